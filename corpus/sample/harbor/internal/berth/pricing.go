package berth

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// Cents is an amount of money. Whole numbers keep rounding out of the sums.
type Cents int64

// String formats the amount with two decimals, for example "42.50".
func (c Cents) String() string {
	sign := ""
	if c < 0 {
		sign, c = "-", -c
	}
	return fmt.Sprintf("%s%d.%02d", sign, c/100, c%100)
}

// MarshalJSON writes the amount as a number of cents.
func (c Cents) MarshalJSON() ([]byte, error) {
	return json.Marshal(int64(c))
}

// Tariff says how much a night costs.
type Tariff struct {
	PerMetre   Cents   // for each started metre of the berth
	Power      Cents   // flat, for a berth with a power outlet
	HighSeason float64 // factor for nights in July and August
	WeekFactor float64 // factor for the whole stay from seven nights on
}

// DefaultTariff is what the harbour office decided for this year.
var DefaultTariff = Tariff{
	PerMetre:   230,
	Power:      350,
	HighSeason: 1.25,
	WeekFactor: 0.9,
}

// Night is the price of one night that begins on day.
func (t Tariff) Night(b Berth, day time.Time) Cents {
	metres := Cents(math.Ceil(b.Length))
	price := metres * t.PerMetre
	if month := day.Month(); month == time.July || month == time.August {
		price = scale(price, t.HighSeason)
	}
	if b.Power {
		price += t.Power
	}
	return price
}

// Quote is the price of a whole stay.
func (t Tariff) Quote(b Berth, from time.Time, nights int) Cents {
	var sum Cents
	for i := 0; i < nights; i++ {
		sum += t.Night(b, from.AddDate(0, 0, i))
	}
	if nights >= 7 {
		sum = scale(sum, t.WeekFactor)
	}
	return sum
}

// scale multiplies and rounds to the nearest cent.
func scale(c Cents, factor float64) Cents {
	return Cents(math.Round(float64(c) * factor))
}
