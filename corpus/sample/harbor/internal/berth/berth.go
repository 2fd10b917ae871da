// Package berth knows about berths, boats and bookings.
package berth

import (
	"errors"
	"fmt"
	"time"
)

// DateLayout is how a day is written everywhere in the API.
const DateLayout = "2006-01-02"

// MaxNights is the longest stay a visitor may book in one go.
const MaxNights = 28

var (
	// ErrNotFound is returned for a berth or a booking that does not exist.
	ErrNotFound = errors.New("not found")
	// ErrTaken is returned when a berth has another booking on one of the nights.
	ErrTaken = errors.New("berth is taken")
	// ErrTooSmall is returned when the boat does not fit.
	ErrTooSmall = errors.New("boat does not fit")
	// ErrInvalid is returned for a request that makes no sense.
	ErrInvalid = errors.New("invalid request")
)

// Berth is one place at a pontoon. All measures are in metres.
type Berth struct {
	ID     string  `json:"id"`
	Length float64 `json:"length"`
	Beam   float64 `json:"beam"`
	Draft  float64 `json:"draft"`
	Power  bool    `json:"power"`
}

// Boat holds the measures that decide whether a boat fits a berth. A measure of
// zero means that the skipper did not say.
type Boat struct {
	MMSI   string  `json:"mmsi"`
	Name   string  `json:"name,omitempty"`
	Length float64 `json:"length,omitempty"`
	Beam   float64 `json:"beam,omitempty"`
	Draft  float64 `json:"draft,omitempty"`
}

// Fits reports whether the boat can lie in the berth. A boat may be half a metre
// longer than its berth, but it may never be wider or deeper.
func (b Berth) Fits(boat Boat) bool {
	const overhang = 0.5
	return boat.Length <= b.Length+overhang && boat.Beam <= b.Beam && boat.Draft <= b.Draft
}

// Booking is a confirmed stay.
type Booking struct {
	ID     int    `json:"id"`
	Berth  string `json:"berth"`
	Boat   Boat   `json:"boat"`
	From   string `json:"from"`
	Nights int    `json:"nights"`
	Price  Cents  `json:"price"`
}

// Span returns the first day of the stay and the day of departure.
func (b Booking) Span() (from, to time.Time, err error) {
	from, err = time.Parse(DateLayout, b.From)
	if err != nil {
		return from, to, fmt.Errorf("%w: date %q: want YYYY-MM-DD", ErrInvalid, b.From)
	}
	return from, from.AddDate(0, 0, b.Nights), nil
}

// Validate checks everything about a booking that can be checked without
// looking at other bookings.
func (b Booking) Validate() error {
	if b.Berth == "" {
		return fmt.Errorf("%w: no berth given", ErrInvalid)
	}
	if b.Nights < 1 || b.Nights > MaxNights {
		return fmt.Errorf("%w: nights must be between 1 and %d", ErrInvalid, MaxNights)
	}
	if err := CheckMMSI(b.Boat.MMSI); err != nil {
		return err
	}
	_, _, err := b.Span()
	return err
}

// CheckMMSI verifies that s looks like the nine digits of a ship's radio
// identity, for example 123456789.
func CheckMMSI(s string) error {
	if len(s) != 9 {
		return fmt.Errorf("%w: mmsi %q must have 9 digits", ErrInvalid, s)
	}
	for _, r := range s {
		if r < '0' || r > '9' {
			return fmt.Errorf("%w: mmsi %q has something other than digits", ErrInvalid, s)
		}
	}
	// TODO: look up the country from the first three digits.
	return nil
}

// overlap reports whether two half-open spans of days share a night.
func overlap(aFrom, aTo, bFrom, bTo time.Time) bool {
	return aFrom.Before(bTo) && bFrom.Before(aTo)
}
