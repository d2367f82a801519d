// Package attachment reads files that are given to a model along with a text: texts, pictures, PDFs
// and recordings.
package attachment

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/regularfile"
	"github.com/segue-go/segue/messages"
)

// The most bytes of a file that is attached.
const (
	MaxText  = 256 << 10
	MaxImage = 5 << 20
	MaxFile  = 10 << 20 // a PDF or a recording
)

// imageTypes are the types of pictures that models accept.
var imageTypes = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

// File is a file that was read. One of Text and Part is set, unless the file is an empty text.
type File struct {
	Name  string // as the user named it
	Bytes int
	Kind  string // "text", "picture", "PDF" or "recording"
	Text  string
	Part  messages.UserContent // what is no text
}

// Read reads a file: a text of at most MaxText bytes, a picture of at most MaxImage bytes, or a PDF
// or a recording (WAV or MP3) of at most MaxFile bytes. It refuses everything else. The content
// says what the file is, not its name.
func Read(path string) (File, error) {
	path = InHome(path)
	data, err := regularfile.Read(path, MaxFile)
	if err != nil {
		return File{}, err
	}
	f := File{Name: path, Bytes: len(data)}
	shown := plaintext.Visible(path)
	switch kind := typeOf(data); {
	case imageTypes[kind] && len(data) > MaxImage:
		return File{}, fmt.Errorf("%s has %s, and a picture may have %s", shown, bytesOf(len(data)), bytesOf(MaxImage))
	case imageTypes[kind]:
		f.Kind, f.Part = "picture", messages.Image{URL: dataURL(kind, data)}
	case kind == "application/pdf":
		f.Kind, f.Part = "PDF", messages.File{Name: filepath.Base(path), MediaType: kind, URL: dataURL(kind, data)}
	case soundFormats[kind] != "":
		f.Kind, f.Part = "recording", messages.Audio{Format: soundFormats[kind], URL: dataURL(kind, data)}
	case !strings.HasPrefix(kind, "text/") || !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return File{}, fmt.Errorf("%s is none of these: a text in UTF-8, a picture (PNG, JPEG, GIF or WebP), a PDF, a recording (WAV or MP3)", shown)
	case len(data) > MaxText:
		return File{}, fmt.Errorf("%s has %s, and a text may have %s", shown, bytesOf(len(data)), bytesOf(MaxText))
	default:
		f.Kind, f.Text = "text", string(data)
	}
	return f, nil
}

// soundFormats are the formats of the recordings that models hear, by their types.
var soundFormats = map[string]string{"audio/wave": "wav", "audio/mpeg": "mp3"}

// typeOf returns the media type of a file, without parameters. MP3s need not begin with their tags.
func typeOf(data []byte) string {
	if len(data) > 1 && data[0] == 0xff && data[1]&0xe6 == 0xe2 {
		return "audio/mpeg"
	}
	kind, _, _ := strings.Cut(http.DetectContentType(data), ";")
	return kind
}

func dataURL(kind string, data []byte) string {
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(data)
}

// ReadAll reads files, all or none.
func ReadAll(paths []string) ([]File, error) {
	files := make([]File, 0, len(paths))
	for _, path := range paths {
		f, err := Read(path)
		if err != nil {
			return nil, fmt.Errorf("cannot attach a file: %w", err)
		}
		files = append(files, f)
	}
	return files, nil
}

// InHome returns a path that begins with ~/ as one in the home folder, since no shell has read it.
func InHome(path string) string {
	rest, ok := strings.CutPrefix(path, "~/")
	if home, err := os.UserHomeDir(); ok && err == nil {
		return filepath.Join(home, rest)
	}
	return path
}

// String describes the file in a few words.
func (f File) String() string {
	return plaintext.Visible(f.Name) + " (" + f.Kind + ", " + bytesOf(f.Bytes) + ")"
}

// WithTexts returns a text, and after it the texts among the files, each in a fence with its name.
// No text can end its own fence.
func WithTexts(text string, files []File) string {
	var b strings.Builder
	b.WriteString(text)
	for _, f := range files {
		if f.Part != nil {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		fence := Fence(f.Text)
		b.WriteString(fence + " " + plaintext.OneLine(f.Name) + "\n" + f.Text)
		if !strings.HasSuffix(f.Text, "\n") {
			b.WriteByte('\n')
		}
		b.WriteString(fence)
	}
	return b.String()
}

// Fence returns a fence of backticks for a text, longer than every run of them in it.
func Fence(text string) string {
	longest, run := 2, 0
	for i := range len(text) {
		if run++; text[i] != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return strings.Repeat("`", longest+1)
}

// Parts returns the files that are no texts as a message that names them; none if there are none.
func Parts(files []File) messages.History {
	var parts []messages.UserContent
	for _, f := range files {
		if f.Part != nil {
			parts = append(parts, messages.Text{Text: "The " + f.Kind + " " + plaintext.OneLine(f.Name) + ":"}, f.Part)
		}
	}
	if parts == nil {
		return nil
	}
	return messages.History{messages.User{Content: parts}}
}

func bytesOf(n int) string { return plaintext.Counted(n, "byte") }
