package messages

import (
	"fmt"
	"math"
	"strings"
)

// Cost is an amount of money in millionths of a US dollar. It is an integer, so sums do not depend
// on the order of the terms, and a limit is reached at the same call in every replay.
type Cost int64

// Units, to be multiplied: 2*Dollar, 50*Cent.
const (
	Cent   Cost = 10_000
	Dollar Cost = 1_000_000
)

// Add returns c + d, limited to the range of an int64.
func (c Cost) Add(d Cost) Cost { return Cost(sum(int64(c), int64(d))) }

// String returns the amount in dollars, with two to six decimal places: "$1.50", "$0.000125".
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
