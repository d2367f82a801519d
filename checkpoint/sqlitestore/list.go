package sqlitestore

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/internal/tables"
)

// A list begins at the condition that holds for the fewest runs: a mark, the runs that are due, or
// the runs with messages. The runs of a mark are stored in the order of lists, so a page is read
// without the others. Runs that are due, or have messages, are in no order, but few as a rule; if
// they are many, the list begins at a mark.

// few is how many runs a list may read and sort.
const few = 1000

// List implements [checkpoint.Lister].
func (s *Store) List(ctx context.Context, q checkpoint.Query) (checkpoint.Page, error) {
	var none checkpoint.Key
	if err := s.enter(ctx, none); err != nil {
		return checkpoint.Page{}, err
	}
	defer s.open.RUnlock()
	l := &listing{s: s, q: &q, until: math.MaxInt64}
	if !q.After.IsZero() {
		l.until = tables.Nanos(q.After.Created)
	}
	if !q.Updated.IsZero() { // no run was appended to before it was created
		l.until = min(l.until, tables.Nanos(q.Updated))
	}
	found, err := l.find(ctx)
	if err != nil {
		return checkpoint.Page{}, s.missing(ctx, none, err)
	}
	var page checkpoint.Page
	if most := q.Most(); len(found) > most {
		found = found[:most]
		page.Next = checkpoint.Cursor{Created: found[most-1].head.Created, Key: found[most-1].head.Key}
	}
	var problems []error
	for _, run := range found {
		if run.damage != nil {
			problems = append(problems, run.damage)
			continue
		}
		page.Heads = append(page.Heads, run.head)
	}
	return page, errors.Join(problems...)
}

// listing is a List that is being made.
type listing struct {
	s     *Store
	q     *checkpoint.Query
	until int64 // runs that were created later are not in the list
}

// start is a condition at which a listing can begin.
type start struct {
	marks       []mark // the runs with any of these marks
	due, posted bool
	about       int // for how many runs the condition holds, counted up to few
}

// find returns the runs of a page, and one more if the page is not the last.
func (l *listing) find(ctx context.Context) ([]listed, error) {
	begin, err := l.best(ctx)
	if err != nil {
		return nil, err
	}
	var found []listed
	marks := begin.marks
	if len(marks) == 0 {
		marks = []mark{{}}
	}
	for _, m := range marks {
		text, args := l.query(&begin, m)
		some, err := l.s.heads(ctx, text, args)
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	if len(marks) > 1 {
		slices.SortFunc(found, func(a, b listed) int {
			x, y := &a.head, &b.head
			return cmp.Or(y.Created.Compare(x.Created), strings.Compare(x.Key.Namespace, y.Key.Namespace), strings.Compare(x.Key.Run, y.Key.Run))
		})
		found = found[:min(len(found), l.q.Most()+1)]
	}
	return found, nil
}

// asked returns the marks that each run of the query has.
func (l *listing) asked() (list []mark) {
	q := l.q
	for name, value := range q.Labels {
		list = append(list, mark{byLabel, name, value})
	}
	if q.Wait != "" {
		list = append(list, mark{class: byWait, value: q.Wait})
	}
	if q.Origin != "" {
		list = append(list, mark{class: byOrigin, value: q.Origin})
	}
	if q.Strategy != "" {
		list = append(list, mark{class: byStrategy, value: q.Strategy})
	}
	return list
}

// statuses returns the marks of statuses: each run of the query has one of them.
func (l *listing) statuses() (list []mark) {
	for _, status := range l.q.Status {
		if m := (mark{class: byStatus, value: string(status)}); !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}

// best returns the start with the fewest runs.
func (l *listing) best(ctx context.Context) (start, error) {
	var all []start
	for _, m := range l.asked() {
		all = append(all, start{marks: []mark{m}})
	}
	if statuses := l.statuses(); len(statuses) > 0 {
		all = append(all, start{marks: statuses})
	}
	if len(all) == 0 {
		all = append(all, start{marks: []mark{{class: everyRun}}})
	}
	if !l.q.Due.IsZero() {
		all = append(all, start{due: true})
	}
	if l.q.Posted {
		all = append(all, start{posted: true})
	}
	if len(all) == 1 {
		return all[0], nil
	}
	for i := range all {
		if err := l.count(ctx, &all[i]); err != nil {
			return start{}, err
		}
	}
	return slices.MinFunc(all, func(a, b start) int { return cmp.Compare(a.about, b.about) }), nil
}

// count counts the runs of a start, up to few.
func (l *listing) count(ctx context.Context, st *start) error {
	type part struct {
		text string
		args []any
	}
	var parts []part
	switch {
	case st.due:
		parts = []part{{`SELECT 1 FROM runs WHERE due <= ?`, []any{tables.Nanos(l.q.Due)}}}
	case st.posted:
		parts = []part{{`SELECT DISTINCT run FROM inbox`, nil}}
	}
	for _, m := range st.marks {
		where, args := l.at(m)
		parts = append(parts, part{`SELECT 1 FROM marks m WHERE ` + where, args})
	}
	for _, p := range parts {
		var n int
		row := l.s.reads.QueryRowContext(ctx, `SELECT count(*) FROM (`+p.text+` LIMIT ?)`, append(p.args, few)...)
		if err := row.Scan(&n); err != nil {
			return err
		}
		st.about += n
	}
	if st.about = min(st.about, few); st.about == few && len(st.marks) == 0 {
		st.about++ // these runs are in no order, so a mark is better
	}
	return nil
}

// at returns the condition that a run has a mark.
func (l *listing) at(m mark) (string, []any) {
	text, args := `m.class = ? AND m.name = ? AND m.value = ? AND m.created <= ?`, []any{m.class, m.name, m.value, l.until}
	if !l.q.All {
		text, args = `m.namespace = ? AND `+text, append([]any{l.q.Namespace}, args...)
	}
	return text, args
}

// query returns the query that begins at a start, or at one of the marks of the start.
func (l *listing) query(st *start, m mark) (string, []any) {
	c := &conditions{}
	var from string
	order := `r.created`
	switch {
	case st.due:
		from = `runs r INDEXED BY runs_by_due`
		c.and(`r.due <= ?`, tables.Nanos(l.q.Due))
	case st.posted:
		from = `(SELECT DISTINCT run FROM inbox) p CROSS JOIN runs r ON r.id = p.run`
	default:
		from, order = `marks m CROSS JOIN runs r ON r.id = m.run`, `m.created`
		where, args := l.at(m)
		c.and(where, args...)
	}
	if len(st.marks) == 0 {
		c.and(`r.created <= ?`, l.until)
		if !l.q.All {
			c.and(`r.namespace = ?`, l.q.Namespace)
		}
	}
	l.rest(c, st)
	text := `SELECT ` + columns + ` FROM ` + from + ` WHERE ` + strings.Join(c.list, ` AND `) +
		` ORDER BY ` + order + ` DESC, r.namespace, r.run LIMIT ?`
	return text, append(c.args, l.q.Most()+1)
}

// conditions are the conditions of a query. Their texts are constants; the values of callers are
// arguments only.
type conditions struct {
	list []string
	args []any
}

func (c *conditions) and(text string, args ...any) {
	c.list, c.args = append(c.list, text), append(c.args, args...)
}

// rest adds the conditions that the start does not imply.
func (l *listing) rest(c *conditions, st *start) {
	q := l.q
	if at := q.After; !at.IsZero() {
		c.and(`(r.created < ? OR r.namespace > ? OR (r.namespace = ? AND r.run > ?))`, tables.Nanos(at.Created), at.Key.Namespace, at.Key.Namespace, at.Key.Run)
	}
	if statuses := l.statuses(); len(statuses) > 0 && !slices.Equal(statuses, st.marks) {
		args := make([]any, len(statuses))
		for i, m := range statuses {
			args[i] = m.value
		}
		c.and(`r.status IN (?`+strings.Repeat(`, ?`, len(args)-1)+`)`, args...)
	}
	for _, m := range l.asked() {
		if !slices.Contains(st.marks, m) {
			c.and(`EXISTS (SELECT 1 FROM marks e WHERE e.namespace = r.namespace AND e.class = ? AND e.name = ? AND e.value = ? AND e.created = r.created AND e.run = r.id)`, m.class, m.name, m.value)
		}
	}
	if !q.Due.IsZero() && !st.due {
		c.and(`r.due <= ?`, tables.Nanos(q.Due))
	}
	if !q.Updated.IsZero() {
		c.and(`r.updated < ?`, tables.Nanos(q.Updated))
	}
	if q.Unleased {
		c.and(`r.lease_until <= ?`, tables.Nanos(l.s.now()))
	}
	if q.Posted && !st.posted {
		c.and(`EXISTS (SELECT 1 FROM inbox i WHERE i.run = r.id)`)
	}
}
