package wire

import (
	"unicode/utf8"

	"github.com/segue-go/segue/messages"
)

// Citation is a source that a model names, with its place in a text in characters. Without a place
// its End is 0 or less.
type Citation struct {
	messages.Citation
	From, To int
}

// ReadCitation reads an annotation, or a source of another form. OpenAI writes the fields into an
// object with the name of the type, or beside the type. A file_citation beside has one place, the
// index; the index of a file_path is not a place.
func ReadCitation(c *Cursor) (one Citation) {
	one.read(c)
	return one
}

func (one *Citation) read(c *Cursor) {
	var kind string
	var at int
	for more := c.Open('{'); more; more = c.More('}') {
		switch name := string(c.Name()); name {
		case "url_citation", "file_citation":
			one.read(c)
		case "type":
			kind = string(c.Text())
		case "url":
			one.URL = string(c.Text())
		case "title", "filename":
			one.Title = string(OrElse(c.Text(), []byte(one.Title)))
		case "filepath": // Azure
			one.Title = string(OrElse([]byte(one.Title), c.Text()))
		case "file_id":
			one.FileID = string(c.Text())
		case "content", "quote", "snippet":
			one.Quote = string(OrElse(c.Text(), []byte(one.Quote)))
		case "start_index":
			one.From = integer(c)
		case "end_index":
			one.To = integer(c)
		case "index":
			at = integer(c)
		}
	}
	if kind == "file_citation" && at > 0 {
		one.From, one.To = at, at
	}
}

func integer(c *Cursor) int {
	n, _ := c.Integer()
	return int(n)
}

// stride is how many characters lie between two of which the place is remembered.
const stride = 64

// Characters are the places of the characters of a text.
type Characters struct {
	text  string
	every []int // where each character whose number is a multiple of stride begins, in bytes
}

// CharactersOf returns the places of the characters of a text.
func CharactersOf(text string) Characters {
	c := Characters{text: text}
	n := 0
	for at := range text {
		if n%stride == 0 {
			c.every = append(c.every, at)
		}
		n++
	}
	return c
}

// ByteOf returns where a character begins; behind the last, that is the end of the text.
func (c Characters) ByteOf(n int) (at int) {
	if i := min(n/stride, len(c.every)-1); i > 0 {
		at, n = c.every[i], n-i*stride
	}
	for ; n > 0 && at < len(c.text); n-- {
		_, size := utf8.DecodeRuneInString(c.text[at:])
		at += size
	}
	return at
}
