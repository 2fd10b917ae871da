// Package report prints bookings for people: the arrivals board in the harbour
// office and the ledger for the bookkeeper.
package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"

	"example.com/harbor/internal/berth"
)

// Arrivals returns the board for one day as plain text.
func Arrivals(day string, list []berth.Booking) string {
	var buf bytes.Buffer
	title := "Arrivals on " + day
	fmt.Fprintf(&buf, "%s\n%s\n", title, strings.Repeat("=", len(title)))
	if len(list) == 0 {
		buf.WriteString("none expected\n")
		return buf.String()
	}

	sorted := append([]berth.Booking(nil), list...)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i].Berth < sorted[j].Berth })
	for _, b := range sorted {
		name := b.Boat.Name
		if name == "" {
			name = "(" + b.Boat.MMSI + ")"
		}
		nights := "nights"
		if b.Nights == 1 {
			nights = "night"
		}
		fmt.Fprintf(&buf, "%-5s %-24s %2d %s\n", b.Berth, name, b.Nights, nights)
	}
	return buf.String()
}

// Ledger writes all bookings as CSV, with the sum in the last line.
func Ledger(w io.Writer, list []berth.Booking) error {
	out := csv.NewWriter(w)
	if err := out.Write([]string{"id", "berth", "mmsi", "from", "nights", "price"}); err != nil {
		return fmt.Errorf("write header: %w", err)
	}
	var sum berth.Cents
	for _, b := range list {
		sum += b.Price
		record := []string{
			strconv.Itoa(b.ID),
			b.Berth,
			b.Boat.MMSI,
			b.From,
			strconv.Itoa(b.Nights),
			b.Price.String(),
		}
		if err := out.Write(record); err != nil {
			return fmt.Errorf("write booking %d: %w", b.ID, err)
		}
	}
	// TODO: split the sum by month; the bookkeeper asks for it every quarter.
	if err := out.Write([]string{"", "", "", "", "total", sum.String()}); err != nil {
		return fmt.Errorf("write total: %w", err)
	}
	out.Flush()
	return out.Error()
}
