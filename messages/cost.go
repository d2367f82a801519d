package messages

import (
	"fmt"
	"math"
	"strings"
)

// Cost is money, in millionths of a US dollar. It is an integer so that sums are exact, whatever
// order they are made in, and a limit is reached at the same call in every replay.
type Cost int64

// Amounts to multiply: 2*Dollar, 50*Cent.
const (
	Cent   Cost = 10_000
	Dollar Cost = 1_000_000
)

// Add returns the sum of both, at most what an int64 holds.
func (c Cost) Add(d Cost) Cost { return Cost(sum(int64(c), int64(d))) }

// String returns the amount in dollars, with two to six digits behind the point: "$1.50",
// "$0.000125".
func (c Cost) String() string {
	sign, n := "", uint64(c)
	if c < 0 {
		sign, n = "-", uint64(-(c+1))+1
	}
	text := fmt.Sprintf("%d.%06d", n/uint64(Dollar), n%uint64(Dollar))
	for !strings.HasSuffix(text[:len(text)-2], ".") && strings.HasSuffix(text, "0") {
		text = text[:len(text)-1]
	}
	return sign + "$" + text
}

// MaxCost is the largest Cost.
const MaxCost Cost = math.MaxInt64
