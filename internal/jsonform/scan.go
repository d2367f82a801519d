package jsonform

import (
	"bytes"
	"encoding/json"
	"errors"
)

// This file takes JSON apart without copying it. All of it relies on the text being valid: check
// with json.Valid first.

// Member returns the value of the last member of that name in an object; nil if there is none, or
// data is no object.
func Member(data []byte, name string) (value []byte) {
	_ = members(data, func(found, v []byte) error {
		if string(found) == name {
			value = v
		}
		return nil
	})
	return value
}

// members calls each with the members of an object.
func members(data []byte, each func(name, value []byte) error) error {
	i := SkipBlank(data, 0)
	if data[i] != '{' {
		return errors.New("it is no object")
	}
	for i = SkipBlank(data, i+1); data[i] != '}'; {
		end := SkipString(data, i)
		name := data[i+1 : end-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			var text string
			if err := json.Unmarshal(data[i:end], &text); err != nil {
				return err
			}
			name = []byte(text)
		}
		i = SkipBlank(data, SkipBlank(data, end)+1) // over the colon
		end = SkipValue(data, i)
		if err := each(name, data[i:end]); err != nil {
			return err
		}
		if i = SkipBlank(data, end); data[i] == ',' {
			i = SkipBlank(data, i+1)
		}
	}
	return nil
}

// elements calls each with the elements of a list.
func elements(data []byte, each func(n int, value []byte) error) error {
	i := SkipBlank(data, 0)
	if data[i] != '[' {
		return errors.New("it is no list")
	}
	i = SkipBlank(data, i+1)
	for n := 0; data[i] != ']'; n++ {
		end := SkipValue(data, i)
		if err := each(n, data[i:end]); err != nil {
			return err
		}
		if i = SkipBlank(data, end); data[i] == ',' {
			i = SkipBlank(data, i+1)
		}
	}
	return nil
}

// SkipBlank returns where the next byte from i on is that is no blank.
func SkipBlank(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

// SkipString returns the end of the string that begins at i.
func SkipString(data []byte, i int) int {
	for i++; ; i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

// SkipValue returns the end of the value that begins at i.
func SkipValue(data []byte, i int) int {
	for depth := 0; i < len(data); {
		switch data[i] {
		case '"':
			i = SkipString(data, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			if depth == 0 {
				return i // of a number or literal that ends its list or object
			}
			depth--
			i++
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return i
			}
			i++
			continue
		default: // a colon, or part of a number or literal
			i++
			continue
		}
		if depth == 0 {
			return i
		}
	}
	return i
}
