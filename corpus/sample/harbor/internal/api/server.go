// Package api puts the berth store behind HTTP.
package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"example.com/harbor/internal/berth"
)

// maxBody is the largest request body that is read.
const maxBody = 64 << 10

// Server holds what the handlers need.
type Server struct {
	store  *berth.Store
	logger *slog.Logger
	now    func() time.Time
}

// New returns a server that answers from store.
func New(store *berth.Store, logger *slog.Logger) *Server {
	return &Server{store: store, logger: logger, now: time.Now}
}

// Routes returns the handler with all routes and middleware in place.
func (s *Server) Routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.health)
	mux.HandleFunc("GET /berths", s.listBerths)
	mux.HandleFunc("GET /bookings", s.listBookings)
	mux.HandleFunc("POST /bookings", s.createBooking)
	mux.HandleFunc("DELETE /bookings/{id}", s.cancelBooking)
	return s.logged(s.recovered(mux))
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	s.reply(w, http.StatusOK, map[string]string{"status": "ok"})
}

func (s *Server) listBerths(w http.ResponseWriter, r *http.Request) {
	var boat berth.Boat
	for name, field := range map[string]*float64{
		"length": &boat.Length,
		"beam":   &boat.Beam,
		"draft":  &boat.Draft,
	} {
		text := r.URL.Query().Get(name)
		if text == "" {
			continue
		}
		value, err := strconv.ParseFloat(text, 64)
		if err != nil || value < 0 {
			s.fail(w, r, fmt.Errorf("%w: %s must be a number of metres", berth.ErrInvalid, name))
			return
		}
		*field = value
	}
	found, err := s.store.Berths(r.Context(), boat)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.reply(w, http.StatusOK, found)
}

func (s *Server) listBookings(w http.ResponseWriter, r *http.Request) {
	list, err := s.store.Bookings(r.Context(), r.URL.Query().Get("from"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.reply(w, http.StatusOK, list)
}

// bookingRequest is flatter than berth.Booking: it is what people type into curl.
type bookingRequest struct {
	Berth  string  `json:"berth"`
	MMSI   string  `json:"mmsi"`
	Name   string  `json:"name"`
	Length float64 `json:"length"`
	Beam   float64 `json:"beam"`
	Draft  float64 `json:"draft"`
	From   string  `json:"from"`
	Nights int     `json:"nights"`
}

func decodeBooking(_ context.Context, body io.Reader) (berth.Booking, error) {
	var in bookingRequest
	dec := json.NewDecoder(io.LimitReader(body, maxBody))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return berth.Booking{}, fmt.Errorf("%w: %v", berth.ErrInvalid, err)
	}
	return berth.Booking{
		Berth:  in.Berth,
		Boat:   berth.Boat{MMSI: in.MMSI, Name: in.Name, Length: in.Length, Beam: in.Beam, Draft: in.Draft},
		From:   in.From,
		Nights: in.Nights,
	}, nil
}

func (s *Server) createBooking(w http.ResponseWriter, r *http.Request) {
	want, err := decodeBooking(r.Context(), r.Body)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	made, err := s.store.Book(r.Context(), want)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Location", fmt.Sprintf("/bookings/%d", made.ID))
	s.reply(w, http.StatusCreated, made)
}

func (s *Server) cancelBooking(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil {
		s.fail(w, r, fmt.Errorf("%w: booking id %q", berth.ErrInvalid, r.PathValue("id")))
		return
	}
	if err := s.store.Cancel(r.Context(), id); err != nil {
		s.fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// reply encodes into a buffer first, so that a value that cannot be encoded
// still ends in a proper status code.
func (s *Server) reply(w http.ResponseWriter, status int, value any) {
	var buf bytes.Buffer
	if err := json.NewEncoder(&buf).Encode(value); err != nil {
		s.logger.Error("encode reply", "error", err)
		http.Error(w, `{"error":"internal error"}`, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if _, err := buf.WriteTo(w); err != nil {
		s.logger.Debug("write reply", "error", err)
	}
}

func statusOf(err error) int {
	switch {
	case errors.Is(err, berth.ErrInvalid):
		return http.StatusBadRequest
	case errors.Is(err, berth.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, berth.ErrTaken):
		return http.StatusConflict
	case errors.Is(err, berth.ErrTooSmall):
		return http.StatusUnprocessableEntity
	}
	return http.StatusInternalServerError
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	status := statusOf(err)
	if status == http.StatusInternalServerError {
		s.logger.ErrorContext(r.Context(), "request failed", "path", r.URL.Path, "error", err)
	}
	s.reply(w, status, map[string]string{"error": err.Error()})
}

// statusRecorder remembers the status code for the log line.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (r *statusRecorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

func (s *Server) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := s.now()
		rec := &statusRecorder{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(rec, r)
		s.logger.Debug("request",
			"method", r.Method,
			"path", r.URL.Path,
			"status", rec.status,
			"took", s.now().Sub(start),
		)
	})
}

// recovered turns a panic in a handler into status 500.
func (s *Server) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if v := recover(); v != nil {
				s.fail(w, r, fmt.Errorf("panic: %v", v))
			}
		}()
		next.ServeHTTP(w, r)
	})
}
