package berth

import (
	"fmt"
	"testing"
	"time"
)

func day(t *testing.T, s string) time.Time {
	t.Helper()
	d, err := time.Parse(DateLayout, s)
	if err != nil {
		t.Fatalf("bad date in test: %v", err)
	}
	return d
}

func TestQuote(t *testing.T) {
	var tests = []struct {
		name   string
		berth  Berth
		from   string
		nights int
		want   Cents
	}{
		{"one night in May", Berth{Length: 10}, "2024-05-04", 1, 2300},
		{"a started metre counts", Berth{Length: 10.1}, "2024-05-04", 1, 2530},
		{"with power", Berth{Length: 10, Power: true}, "2024-05-04", 1, 2650},
		{"high season", Berth{Length: 10}, "2024-07-20", 1, 2875},
		{"into high season", Berth{Length: 10}, "2024-06-30", 2, 2300 + 2875},
		{"out of high season", Berth{Length: 10}, "2024-08-31", 2, 2875 + 2300},
		{"a week is cheaper", Berth{Length: 10}, "2024-05-04", 7, 14490},
		{"no nights", Berth{Length: 10}, "2024-05-04", 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := DefaultTariff.Quote(tt.berth, day(t, tt.from), tt.nights)
			if got != tt.want {
				t.Errorf("Quote() = %s, want %s", got, tt.want)
			}
		})
	}
}

func ExampleCents_String() {
	fmt.Println(Cents(4250))
	fmt.Println(Cents(7))
	fmt.Println(Cents(-199))
	fmt.Println(Cents(123456789))
	// Output:
	// 42.50
	// 0.07
	// -1.99
	// 1234567.89
}

func BenchmarkQuote(b *testing.B) {
	place := Berth{Length: 11.4, Power: true}
	from := time.Date(2024, time.June, 20, 0, 0, 0, 0, time.UTC)
	for i := 0; i < b.N; i++ {
		DefaultTariff.Quote(place, from, MaxNights)
	}
}
