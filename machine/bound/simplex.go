package bound

import "math/big"

// row is a condition of a program: the sum of the variables, each times its coefficient, is at most
// most. Variables are numbered; missing ones have the coefficient 0.
type row struct {
	times map[int]int64
	most  int64
}

// dictionary is the state of the simplex method: each basic variable is a constant less multiples
// of the free ones, and so is what is to be as large as possible, with a plus. All variables are at
// least 0. Numbers are exact.
type dictionary struct {
	basic, free []int // the variables of the lines and of the columns
	lines       [][]big.Rat
	constant    []big.Rat
	gain        []big.Rat // of each free variable
	value       big.Rat
}

// relaxed returns the largest value of goal under the rows, with variables that need not be whole,
// and the variables. ok is false if no variables fit the rows. The rows must bound the goal.
func relaxed(variables int, rows []row, goal map[int]int64) (value *big.Rat, at []big.Rat, ok bool) {
	d := &dictionary{lines: make([][]big.Rat, len(rows)), constant: make([]big.Rat, len(rows))}
	extra := variables + len(rows) // the variable that lets every row fit
	for j := range variables {
		d.free = append(d.free, j)
	}
	lowest := -1
	for i, r := range rows {
		d.basic = append(d.basic, variables+i)
		d.lines[i] = make([]big.Rat, variables, variables+1)
		for j, times := range r.times {
			d.lines[i][j].SetInt64(times)
		}
		d.constant[i].SetInt64(r.most)
		if r.most < 0 && (lowest < 0 || r.most < rows[lowest].most) {
			lowest = i
		}
	}
	if lowest >= 0 && !d.fit(extra, lowest) {
		return nil, nil, false
	}
	d.aim(goal)
	d.climb()
	at = make([]big.Rat, variables)
	for i, v := range d.basic {
		if v < variables {
			at[v].Set(&d.constant[i])
		}
	}
	return &d.value, at, true
}

// fit makes all constants at least 0, with the help of an extra variable that is in every row. It
// reports whether the rows fit without it.
func (d *dictionary) fit(extra, lowest int) bool {
	column := len(d.free)
	d.free = append(d.free, extra)
	d.gain = make([]big.Rat, len(d.free))
	d.gain[column].SetInt64(-1)
	for i := range d.lines {
		d.lines[i] = append(d.lines[i], *big.NewRat(-1, 1))
	}
	d.pivot(lowest, column)
	d.climb()
	if d.value.Sign() < 0 {
		return false
	}
	for i, v := range d.basic {
		if v == extra { // it is 0, and can take the place of any free one that its line has
			for j := range d.free {
				if d.lines[i][j].Sign() != 0 {
					d.pivot(i, j)
					break
				}
			}
			break
		}
	}
	for j, v := range d.free {
		if v == extra {
			last := len(d.free) - 1
			d.free[j] = d.free[last]
			d.free = d.free[:last]
			for i := range d.lines {
				d.lines[i][j].Set(&d.lines[i][last])
				d.lines[i] = d.lines[i][:last]
			}
			break
		}
	}
	return true
}

// aim sets what is to be as large as possible.
func (d *dictionary) aim(goal map[int]int64) {
	d.gain, d.value = make([]big.Rat, len(d.free)), big.Rat{}
	var times, product big.Rat
	for j, v := range d.free {
		d.gain[j].SetInt64(goal[v])
	}
	for i, v := range d.basic {
		if goal[v] == 0 {
			continue
		}
		times.SetInt64(goal[v])
		d.value.Add(&d.value, product.Mul(&times, &d.constant[i]))
		for j := range d.free {
			if d.lines[i][j].Sign() != 0 {
				d.gain[j].Sub(&d.gain[j], product.Mul(&times, &d.lines[i][j]))
			}
		}
	}
}

// steep is the number of moves after which climb goes by Bland's rule, which never goes in circles.
const steep = 60

// climb moves until no free variable has a gain.
func (d *dictionary) climb() {
	for moves := 0; ; moves++ {
		column := -1
		for j := range d.free {
			switch {
			case d.gain[j].Sign() <= 0:
			case column < 0, moves < steep && d.gain[j].Cmp(&d.gain[column]) > 0, moves >= steep && d.free[j] < d.free[column]:
				column = j
			}
		}
		if column < 0 {
			return
		}
		line := d.tightest(column)
		if line < 0 {
			panic("bound: a program without a bound") // every variable is bounded by most
		}
		d.pivot(line, column)
	}
}

// tightest returns the line that bounds the growth of a free variable most; -1 if none does.
func (d *dictionary) tightest(column int) int {
	line := -1
	var least, ratio big.Rat
	for i := range d.lines {
		if d.lines[i][column].Sign() <= 0 {
			continue
		}
		ratio.Quo(&d.constant[i], &d.lines[i][column])
		order := -1
		if line >= 0 {
			order = ratio.Cmp(&least)
		}
		if order < 0 || order == 0 && d.basic[i] < d.basic[line] {
			line = i
			least.Set(&ratio)
		}
	}
	return line
}

// pivot exchanges the variables of a line and a column.
func (d *dictionary) pivot(line, column int) {
	own := d.lines[line]
	var by, product big.Rat
	by.Inv(&own[column])
	own[column].SetInt64(1)
	scale(own, &by)
	d.constant[line].Mul(&d.constant[line], &by)
	for i, other := range d.lines {
		if i == line || other[column].Sign() == 0 {
			continue
		}
		by.Neg(&other[column])
		other[column].SetInt64(0)
		addTimes(other, own, &by)
		d.constant[i].Add(&d.constant[i], product.Mul(&by, &d.constant[line]))
	}
	by.Set(&d.gain[column])
	d.value.Add(&d.value, product.Mul(&by, &d.constant[line]))
	d.gain[column].SetInt64(0)
	addTimes(d.gain, own, by.Neg(&by))
	d.basic[line], d.free[column] = d.free[column], d.basic[line]
}

func scale(line []big.Rat, by *big.Rat) {
	for j := range line {
		if line[j].Sign() != 0 {
			line[j].Mul(&line[j], by)
		}
	}
}

// addTimes adds a multiple of other to line.
func addTimes(line, other []big.Rat, by *big.Rat) {
	var product big.Rat
	for j := range line {
		if other[j].Sign() != 0 {
			line[j].Add(&line[j], product.Mul(by, &other[j]))
		}
	}
}
