package pgstore

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/internal/tables"
)

// List implements [checkpoint.Lister]. By its indexes and statistics the server finds a page
// quickly, however many runs there are. It reads many runs only if each condition holds for many
// runs, and all conditions together for few: Updated, Unleased and Posted have no index of their
// own.
func (s *Store) List(ctx context.Context, q checkpoint.Query) (page checkpoint.Page, err error) {
	text, args := listing(&q)
	var problems []error
	var last checkpoint.Cursor
	rowsRead := 0
	err = s.do(ctx, checkpoint.Key{}, func(conn *pgx.Conn) error {
		if (checkpoint.Key{Namespace: q.Namespace, Run: "any"}).Check() != nil && !q.All {
			return nil // no run can be in such a namespace
		}
		// The server plans each query anew: many runs have a status, few have a label, and so on.
		rows, err := conn.Query(ctx, text, append([]any{pgx.QueryExecModeCacheDescribe}, args...)...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var row headRow
			if err := rows.Scan(row.into()...); err != nil {
				return err
			}
			if rowsRead++; rowsRead > q.Most() {
				page.Next = last
				continue
			}
			last = checkpoint.Cursor{Created: row.head.Created, Key: row.head.Key}
			h, damage := s.whole(&row)
			if damage != nil {
				problems = append(problems, damage)
				continue
			}
			page.Heads = append(page.Heads, h)
		}
		return rows.Err()
	})
	if err != nil {
		return checkpoint.Page{}, err
	}
	return page, errors.Join(problems...)
}

// conditions are the conditions of a query. Their texts are constants, in which ? stands for an
// argument. The values of callers are arguments only.
type conditions struct {
	list []string
	args []any
}

func (c *conditions) and(text string, args ...any) {
	for _, arg := range args {
		c.args = append(c.args, arg)
		text = strings.Replace(text, "?", "$"+strconv.Itoa(len(c.args)), 1)
	}
	c.list = append(c.list, text)
}

// listing returns the statement that reads a page, and one more run if the page is not the last.
func listing(q *checkpoint.Query) (string, []any) {
	c := &conditions{}
	if !q.All {
		c.and(`r.namespace = ?`, q.Namespace)
	}
	switch states := statesOf(q); len(states) {
	case 0:
	case 1:
		c.and(`r.state = ?`, states[0])
	default:
		c.and(`r.state = ANY (?)`, states)
	}
	if marks := asked(q); len(marks) > 0 {
		c.and(`r.marks @> ?`, marks)
	}
	if !q.Due.IsZero() {
		c.and(`r.due <= ?`, tables.Nanos(q.Due))
	}
	if !q.Updated.IsZero() { // no run was appended to before it was created
		at := ceiling(q.Updated)
		c.and(`r.updated < ? AND r.created < ?`, at, at)
	}
	if q.Unleased {
		c.and(`(r.lease_until IS NULL OR r.lease_until <= clock_timestamp())`)
	}
	if q.Posted {
		c.and(`EXISTS (SELECT FROM inbox i WHERE i.run = r.id)`)
	}
	c.behind(q)
	where := ``
	if len(c.list) > 0 {
		where = ` WHERE ` + strings.Join(c.list, ` AND `)
	}
	text := `SELECT ` + columns + ` FROM runs r` + where + ` ORDER BY r.created DESC, r.namespace, r.run LIMIT ` + strconv.Itoa(q.Most()+1)
	return text, c.args
}

// behind leaves out the runs up to the cursor of a query.
func (c *conditions) behind(q *checkpoint.Query) {
	if q.After.IsZero() {
		return
	}
	at, namespace, run := ceiling(q.After.Created), storable(q.After.Key.Namespace), storable(q.After.Key.Run)
	c.and(`r.created <= ?`, at)
	switch {
	case q.All:
		c.and(`(r.created < ? OR (r.namespace, r.run) > (?, ?))`, at, namespace, run)
	case q.Namespace < namespace:
		c.and(`r.created < ?`, at)
	case q.Namespace == namespace:
		c.and(`(r.created < ? OR r.run > ?)`, at, run)
	}
}

// asked returns the marks that each run of a query has.
func asked(q *checkpoint.Query) (list []mark) {
	for name, value := range q.Labels {
		list = append(list, markOf(byLabel, name, value))
	}
	if q.Wait != "" {
		list = append(list, markOf(byWait, "", q.Wait))
	}
	if q.Origin != "" {
		list = append(list, markOf(byOrigin, "", q.Origin))
	}
	if q.Strategy != "" {
		list = append(list, markOf(byStrategy, "", q.Strategy))
	}
	return list
}

// statesOf returns the marks of statuses: each run of a query has one of them.
func statesOf(q *checkpoint.Query) (list []mark) {
	for _, status := range q.Status {
		list = append(list, markOf(byStatus, "", string(status)))
	}
	return list
}

// ceiling rounds a time up to whole microseconds, the unit of PostgreSQL. A time before the year 1
// or after the year 9999 becomes the first or the last time of these years.
func ceiling(t time.Time) time.Time {
	switch year := t.UTC().Year(); {
	case year < 1:
		return time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	case year > 9999:
		return time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	}
	whole := t.Truncate(time.Microsecond)
	if whole.Before(t) {
		whole = whole.Add(time.Microsecond)
	}
	return whole
}

// storable returns a text without the bytes that PostgreSQL cannot hold, to compare it with stored
// texts.
func storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "")
}
