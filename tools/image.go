package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/segue-go/segue/messages"
)

// errNoCall says that there is no call, or that it is over.
var errNoCall = errors.New("tools: the model cannot be shown a picture here: the call is over, or there is no call")

// ShowImage shows the model a picture besides the result of the tool of ctx, by an https URL or a
// data URL: it adds it to the Images of the [messages.ToolOutput] of its call. The picture counts
// as untrusted if the result of the tool does. Providers whose tool results are text alone refuse a
// request with such a picture: see the client that is used.
//
// ShowImage returns an error for any other URL, for a data URL without bytes in base64, for
// a Detail or a Cache that does not exist, and beyond 16 pictures or
// 5 MiB of URLs of one call: the picture is then not shown, and those before it are. It also
// returns an error outside a call, and after the call is over.
func ShowImage(ctx context.Context, i messages.Image) error {
	c := callOf(ctx)
	if c == nil {
		return errNoCall
	}
	problem, ok := unshowable(i), true
	if problem == "" {
		problem, ok = c.ShowImage(i)
	}
	switch {
	case !ok:
		return errNoCall
	case problem != "":
		return errors.New("tools: the model cannot be shown the picture: " + problem)
	default:
		return nil
	}
}

// unshowable returns what is wrong with a picture, or "". No request that has the picture would be
// taken, and the picture is in every request of its run.
func unshowable(i messages.Image) string {
	head, data, _ := strings.Cut(i.URL, ",")
	isData := strings.HasPrefix(i.URL, "data:image/")
	switch {
	case !isData && !strings.HasPrefix(i.URL, "https://"):
		return "its URL must begin with https:// or data:image/"
	case isData && (!strings.HasSuffix(head, ";base64") || !isBase64(data)):
		return "its data URL must hold bytes in base64, as in data:image/png;base64,AA=="
	case !isData && (strings.ContainsFunc(i.URL, isBlankOrControl) || !utf8.ValidString(i.URL)):
		return "its URL has a blank, a control character, or bytes that are not UTF-8"
	}
	switch i.Detail {
	case "", "low", "high", "auto":
	default:
		return fmt.Sprintf("there is no Detail %+.40q", i.Detail)
	}
	switch i.Cache {
	case messages.CacheNone, messages.Cache5m, messages.Cache1h:
		return ""
	default:
		return fmt.Sprintf("there is no Cache %+.40q", i.Cache)
	}
}

func isBlankOrControl(r rune) bool { return r <= ' ' || r == 0x7f }

// isBase64 reports whether a text is one or more bytes in base64 (RFC 4648), with or without
// padding.
func isBase64(text string) bool {
	digits := strings.TrimSuffix(strings.TrimSuffix(text, "="), "=")
	for i := range len(digits) {
		switch c := digits[i]; {
		case 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '+', c == '/':
		default:
			return false
		}
	}
	return len(digits) > 1 && len(digits)%4 != 1
}
