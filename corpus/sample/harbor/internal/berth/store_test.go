package berth

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
)

func newTestStore(t *testing.T) *Store {
	t.Helper()
	s := NewStore()
	for i, length := range []float64{8, 10, 12} {
		b := Berth{ID: fmt.Sprintf("A%02d", i+1), Length: length, Beam: 4, Draft: 2}
		if err := s.AddBerth(context.Background(), b); err != nil {
			t.Fatalf("AddBerth(%s): %v", b.ID, err)
		}
	}
	return s
}

func stay(place, from string, nights int) Booking {
	return Booking{
		Berth:  place,
		Boat:   Boat{MMSI: "123456789", Length: 7.5, Beam: 2.5, Draft: 1.2},
		From:   from,
		Nights: nights,
	}
}

func TestBook(t *testing.T) {
	var tests = []struct {
		name string
		want Booking
		err  error
	}{
		{"free berth", stay("A02", "2024-06-10", 2), nil},
		{"ends on arrival day", stay("A01", "2024-05-30", 2), nil},
		{"begins on departure day", stay("A01", "2024-06-04", 1), nil},
		{"same night", stay("A01", "2024-06-03", 1), ErrTaken},
		{"around another stay", stay("A01", "2024-05-28", 14), ErrTaken},
		{"no such berth", stay("Z99", "2024-06-01", 1), ErrNotFound},
		{"no nights", stay("A01", "2024-07-01", 0), ErrInvalid},
		{"too many nights", stay("A01", "2024-07-01", MaxNights+1), ErrInvalid},
		{"bad date", stay("A01", "1 July", 1), ErrInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx := context.Background()
			s := newTestStore(t)
			if _, err := s.Book(ctx, stay("A01", "2024-06-01", 3)); err != nil {
				t.Fatalf("first booking: %v", err)
			}
			got, err := s.Book(ctx, tt.want)
			if !errors.Is(err, tt.err) {
				t.Fatalf("Book() error = %v, want %v", err, tt.err)
			}
			if err == nil && got.ID != 2 {
				t.Errorf("Book() ID = %d, want 2", got.ID)
			}
		})
	}
}

func TestBookTooSmall(t *testing.T) {
	s := newTestStore(t)
	want := stay("A01", "2024-06-01", 1)
	want.Boat.Length = 8.6
	if _, err := s.Book(context.Background(), want); !errors.Is(err, ErrTooSmall) {
		t.Errorf("error = %v, want %v", err, ErrTooSmall)
	}
	want.Boat.Length = 8.5
	if _, err := s.Book(context.Background(), want); err != nil {
		t.Errorf("a boat with half a metre of overhang should fit: %v", err)
	}
}

// Many skippers want the same berth on the same night; exactly one gets it.
func TestBookConcurrently(t *testing.T) {
	s := newTestStore(t)
	var (
		wg  sync.WaitGroup
		mu  sync.Mutex
		won int
	)
	for i := 0; i < 50; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if _, err := s.Book(context.Background(), stay("A03", "2024-08-17", 1)); err == nil {
				mu.Lock()
				won++
				mu.Unlock()
			}
		}()
	}
	wg.Wait()
	if won != 1 {
		t.Errorf("%d bookings went through, want 1", won)
	}
}

func TestCancelledContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s := NewStore()
	if _, err := s.Bookings(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want %v", err, context.Canceled)
	}
}

func ExampleStore_Berths() {
	ctx := context.Background()
	s := NewStore()
	_ = s.AddBerth(ctx, Berth{ID: "B02", Length: 12, Beam: 4, Draft: 2.2})
	_ = s.AddBerth(ctx, Berth{ID: "B01", Length: 9, Beam: 3, Draft: 1.6})
	found, err := s.Berths(ctx, Boat{Length: 8, Draft: 1.5})
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	for _, b := range found {
		fmt.Println(b.ID, b.Length)
	}
	// Output:
	// B01 9
	// B02 12
}
