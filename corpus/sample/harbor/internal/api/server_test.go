package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/harbor/internal/berth"
)

func newTestServer(t *testing.T) http.Handler {
	t.Helper()
	store := berth.NewStore()
	places := []berth.Berth{
		{ID: "A01", Length: 8, Beam: 3, Draft: 1.5},
		{ID: "A02", Length: 12, Beam: 4, Draft: 2.4, Power: true},
	}
	for _, b := range places {
		if err := store.AddBerth(context.Background(), b); err != nil {
			t.Fatal(err)
		}
	}
	logger := slog.New(slog.NewTextHandler(io.Discard, nil))
	return New(store, logger).Routes()
}

func send(h http.Handler, method, path, body string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, req)
	return rec
}

func TestStatusCodes(t *testing.T) {
	const good = `{"berth":"A01","mmsi":"123456789","from":"2024-06-01","nights":2}`
	var tests = []struct {
		name   string
		method string
		path   string
		body   string
		want   int
	}{
		{"health", "GET", "/healthz", "", 200},
		{"all berths", "GET", "/berths", "", 200},
		{"length is no number", "GET", "/berths?length=long", "", 400},
		{"length is negative", "GET", "/berths?length=-1", "", 400},
		{"book", "POST", "/bookings", good, 201},
		{"book broken JSON", "POST", "/bookings", good[:20], 400},
		{"book unknown field", "POST", "/bookings", `{"colour":"blue"}`, 400},
		{"book short mmsi", "POST", "/bookings", strings.Replace(good, "123456789", "1234", 1), 400},
		{"book unknown berth", "POST", "/bookings", strings.Replace(good, "A01", "Q77", 1), 404},
		{"book with a long boat", "POST", "/bookings", strings.Replace(good, `"nights"`, `"length":30,"nights"`, 1), 422},
		{"cancel unknown", "DELETE", "/bookings/99", "", 404},
		{"cancel without a number", "DELETE", "/bookings/abc", "", 400},
		{"no such route", "GET", "/moorings", "", 404},
		{"wrong method", "PUT", "/berths", "", 405},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec := send(newTestServer(t), tt.method, tt.path, tt.body)
			if rec.Code != tt.want {
				t.Errorf("status = %d, want %d; body: %s", rec.Code, tt.want, rec.Body)
			}
		})
	}
}

func TestBookTwice(t *testing.T) {
	h := newTestServer(t)
	const body = `{"berth":"A02","mmsi":"123456789","from":"2024-07-05","nights":3}`

	rec := send(h, "POST", "/bookings", body)
	if rec.Code != http.StatusCreated {
		t.Fatalf("first booking: status %d", rec.Code)
	}
	if got := rec.Header().Get("Location"); got != "/bookings/1" {
		t.Errorf("Location = %q, want /bookings/1", got)
	}

	rec = send(h, "POST", "/bookings", body)
	if rec.Code != http.StatusConflict {
		t.Fatalf("second booking: status %d, want 409", rec.Code)
	}
	var failure struct {
		Error string `json:"error"`
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &failure); err != nil {
		t.Fatalf("error body is not JSON: %v", err)
	}
	if !strings.Contains(failure.Error, "taken") {
		t.Errorf("error = %q, want something about taken", failure.Error)
	}

	if rec = send(h, "DELETE", "/bookings/1", ""); rec.Code != http.StatusNoContent {
		t.Fatalf("cancel: status %d, want 204", rec.Code)
	}
	if rec = send(h, "POST", "/bookings", body); rec.Code != http.StatusCreated {
		t.Errorf("booking after cancel: status %d, want 201", rec.Code)
	}
}

func TestDecodeBookingLimit(t *testing.T) {
	var buf bytes.Buffer
	buf.WriteString(`{"name":"`)
	buf.Write(bytes.Repeat([]byte("x"), maxBody))
	buf.WriteString(`"}`)
	if _, err := decodeBooking(context.Background(), &buf); err == nil {
		t.Error("a body over the limit should be an error")
	}
}
