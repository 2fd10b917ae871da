package berth

import (
	"context"
	"fmt"
	"sort"
	"sync"
)

// Store keeps berths and bookings in memory. It is safe for use by several
// goroutines at once.
type Store struct {
	mu       sync.RWMutex
	berths   map[string]Berth
	bookings map[int]Booking
	nextID   int
	tariff   Tariff
}

// NewStore returns an empty store with the default tariff.
func NewStore() *Store {
	return &Store{
		berths:   make(map[string]Berth),
		bookings: make(map[int]Booking),
		nextID:   1,
		tariff:   DefaultTariff,
	}
}

// AddBerth adds a berth. Adding the same ID twice is an error.
func (s *Store) AddBerth(ctx context.Context, b Berth) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.berths[b.ID]; ok {
		return fmt.Errorf("%w: berth %s exists already", ErrInvalid, b.ID)
	}
	s.berths[b.ID] = b
	return nil
}

// Berths lists the berths that the boat fits in, smallest first.
func (s *Store) Berths(ctx context.Context, boat Boat) ([]Berth, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	found := make([]Berth, 0, len(s.berths))
	for _, b := range s.berths {
		if b.Fits(boat) {
			found = append(found, b)
		}
	}
	s.mu.RUnlock()

	sort.Slice(found, func(i, j int) bool {
		if found[i].Length != found[j].Length {
			return found[i].Length < found[j].Length
		}
		return found[i].ID < found[j].ID
	})
	return found, nil
}

// Book checks the request against the berth and all other bookings, sets the
// price and stores it. The booking returned carries the new ID.
func (s *Store) Book(ctx context.Context, want Booking) (Booking, error) {
	if err := ctx.Err(); err != nil {
		return Booking{}, err
	}
	if err := want.Validate(); err != nil {
		return Booking{}, err
	}
	from, to, err := want.Span()
	if err != nil {
		return Booking{}, err
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	place, ok := s.berths[want.Berth]
	if !ok {
		return Booking{}, fmt.Errorf("berth %s: %w", want.Berth, ErrNotFound)
	}
	if !place.Fits(want.Boat) {
		return Booking{}, fmt.Errorf("berth %s: %w", want.Berth, ErrTooSmall)
	}
	// FIXME: this walks over every booking ever made. Keep a list per berth
	// once there are more than a few thousand of them.
	for _, other := range s.bookings {
		if other.Berth != want.Berth {
			continue
		}
		otherFrom, otherTo, err := other.Span()
		if err != nil {
			return Booking{}, fmt.Errorf("stored booking %d: %w", other.ID, err)
		}
		if overlap(from, to, otherFrom, otherTo) {
			return Booking{}, fmt.Errorf("berth %s from %s: %w", want.Berth, want.From, ErrTaken)
		}
	}

	want.ID = s.nextID
	s.nextID++
	want.Price = s.tariff.Quote(place, from, want.Nights)
	s.bookings[want.ID] = want
	return want, nil
}

// Bookings lists bookings in the order they were made. With a non-empty day,
// only those that begin on that day are listed.
func (s *Store) Bookings(ctx context.Context, day string) ([]Booking, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	list := make([]Booking, 0, len(s.bookings))
	for _, b := range s.bookings {
		if day == "" || b.From == day {
			list = append(list, b)
		}
	}
	s.mu.RUnlock()
	sort.Slice(list, func(i, j int) bool { return list[i].ID < list[j].ID })
	return list, nil
}

// Cancel removes a booking.
func (s *Store) Cancel(ctx context.Context, id int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.bookings[id]; !ok {
		return fmt.Errorf("booking %d: %w", id, ErrNotFound)
	}
	delete(s.bookings, id)
	return nil
}
