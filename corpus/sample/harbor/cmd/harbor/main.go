// Command harbor serves the berth booking API.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"example.com/harbor/internal/api"
	"example.com/harbor/internal/berth"
)

// version is overwritten at link time with -ldflags "-X main.version=...".
var version = "dev"

type options struct {
	listen  string
	berths  int
	verbose bool
	version bool
}

func parseFlags(args []string) (options, error) {
	var opt options
	fs := flag.NewFlagSet("harbor", flag.ContinueOnError)
	fs.StringVar(&opt.listen, "listen", "127.0.0.1:8088", "address to listen on")
	fs.IntVar(&opt.berths, "berths", 24, "number of berths to create at start")
	fs.BoolVar(&opt.verbose, "v", false, "log every request")
	fs.BoolVar(&opt.version, "version", false, "print the version and exit")
	if err := fs.Parse(args); err != nil {
		return opt, err
	}
	if opt.berths < 1 || opt.berths > 500 {
		return opt, fmt.Errorf("berths must be between 1 and 500, got %d", opt.berths)
	}
	return opt, nil
}

// seed fills the store with pontoons A, B, C and so on, ten berths each. Berths
// further along a pontoon are longer and deeper.
func seed(ctx context.Context, store *berth.Store, count int) error {
	for i := 0; i < count; i++ {
		pontoon := 'A' + rune(i/10)
		place := i % 10
		b := berth.Berth{
			ID:     fmt.Sprintf("%c%02d", pontoon, place+1),
			Length: 7 + 0.8*float64(place),
			Beam:   2.8 + 0.15*float64(place),
			Draft:  1.4 + 0.12*float64(place),
			Power:  place%2 == 0,
		}
		if err := store.AddBerth(ctx, b); err != nil {
			return fmt.Errorf("seed berth %s: %w", b.ID, err)
		}
	}
	return nil
}

func run(ctx context.Context, opt options) error {
	level := slog.LevelInfo
	if opt.verbose {
		level = slog.LevelDebug
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))

	store := berth.NewStore()
	if err := seed(ctx, store, opt.berths); err != nil {
		return err
	}

	srv := &http.Server{
		Addr:              opt.listen,
		Handler:           api.New(store, logger).Routes(),
		ReadHeaderTimeout: 5 * time.Second,
		WriteTimeout:      15 * time.Second,
		IdleTimeout:       60 * time.Second,
	}

	failed := make(chan error, 1)
	go func() {
		logger.Info("listening", "addr", opt.listen, "berths", opt.berths)
		failed <- srv.ListenAndServe()
	}()

	select {
	case err := <-failed:
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return fmt.Errorf("serve on %s: %w", opt.listen, err)
	case <-ctx.Done():
		logger.Info("shutting down")
	}

	// The parent context is already cancelled here, so start from a fresh one.
	stop, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return srv.Shutdown(stop)
}

func main() {
	opt, err := parseFlags(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "harbor:", err)
		os.Exit(2)
	}
	if opt.version {
		fmt.Println("harbor", version)
		return
	}

	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, opt); err != nil {
		fmt.Fprintln(os.Stderr, "harbor: fatal error:", err)
		os.Exit(1)
	}
}
