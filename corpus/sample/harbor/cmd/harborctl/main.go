// Command harborctl is what the harbour office uses to talk to the server.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"example.com/harbor/internal/berth"
	"example.com/harbor/internal/report"
)

const usage = `usage: harborctl <command> [arguments]

commands:
  berths LENGTH DRAFT             list the berths a boat fits in
  book BERTH MMSI FROM NIGHTS     make a booking
  cancel ID                       cancel a booking
  arrivals DATE                   who comes in on this day
  ledger                          all bookings with their price, as CSV

The server address is taken from HARBOR_URL (default http://127.0.0.1:8088).
`

var errUsage = errors.New("wrong arguments")

type client struct {
	base string
	http *http.Client
}

func newClient() *client {
	base := os.Getenv("HARBOR_URL")
	if base == "" {
		base = "http://127.0.0.1:8088"
	}
	return &client{base: base, http: &http.Client{Timeout: 10 * time.Second}}
}

// do sends one request and decodes the JSON answer into out, which may be nil.
func (c *client) do(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		var buf bytes.Buffer
		if err := json.NewEncoder(&buf).Encode(in); err != nil {
			return fmt.Errorf("encode request: %w", err)
		}
		body = &buf
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()

	if resp.StatusCode >= 400 {
		var failure struct {
			Error string `json:"error"`
		}
		if err := json.NewDecoder(resp.Body).Decode(&failure); err != nil {
			return fmt.Errorf("%s %s: status %d", method, path, resp.StatusCode)
		}
		return fmt.Errorf("%s %s: %s", method, path, failure.Error)
	}
	if out == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(out)
}

func (c *client) berths(ctx context.Context, length, draft string) error {
	query := url.Values{"length": {length}, "draft": {draft}}
	var found []berth.Berth
	if err := c.do(ctx, http.MethodGet, "/berths?"+query.Encode(), nil, &found); err != nil {
		return err
	}
	if len(found) == 0 {
		fmt.Println("no berth is large enough")
		return nil
	}
	fmt.Printf("%-5s %7s %7s %7s  %s\n", "berth", "length", "beam", "draft", "power")
	for _, b := range found {
		power := "no"
		if b.Power {
			power = "yes"
		}
		fmt.Printf("%-5s %7.2f %7.2f %7.2f  %s\n", b.ID, b.Length, b.Beam, b.Draft, power)
	}
	return nil
}

func (c *client) book(ctx context.Context, id, mmsi, from, nights string) error {
	n, err := strconv.Atoi(nights)
	if err != nil {
		return fmt.Errorf("nights: %w", err)
	}
	in := map[string]any{"berth": id, "mmsi": mmsi, "from": from, "nights": n}
	var made berth.Booking
	if err := c.do(ctx, http.MethodPost, "/bookings", in, &made); err != nil {
		return err
	}
	fmt.Printf("booking %d: berth %s, %d nights, %s\n", made.ID, made.Berth, made.Nights, made.Price)
	return nil
}

func (c *client) arrivals(ctx context.Context, day string) error {
	var all []berth.Booking
	if err := c.do(ctx, http.MethodGet, "/bookings?from="+url.QueryEscape(day), nil, &all); err != nil {
		return err
	}
	fmt.Print(report.Arrivals(day, all))
	return nil
}

func (c *client) ledger(ctx context.Context) error {
	var all []berth.Booking
	if err := c.do(ctx, http.MethodGet, "/bookings", nil, &all); err != nil {
		return err
	}
	return report.Ledger(os.Stdout, all)
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	c := newClient()
	name, args := args[0], args[1:]
	switch {
	case name == "berths" && len(args) == 2:
		return c.berths(ctx, args[0], args[1])
	case name == "book" && len(args) == 4:
		return c.book(ctx, args[0], args[1], args[2], args[3])
	case name == "cancel" && len(args) == 1:
		if err := c.do(ctx, http.MethodDelete, "/bookings/"+url.PathEscape(args[0]), nil, nil); err != nil {
			return err
		}
		fmt.Println("cancelled")
		return nil
	case name == "arrivals" && len(args) == 1:
		return c.arrivals(ctx, args[0])
	case name == "ledger" && len(args) == 0:
		return c.ledger(ctx)
	case name == "help":
		fmt.Print(usage)
		return nil
	}
	return errUsage
}

func main() {
	err := run(context.Background(), os.Args[1:])
	if errors.Is(err, errUsage) {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "harborctl:", err)
		os.Exit(1)
	}
}
