// Package sse reads server-sent events as the WHATWG HTML standard defines the event stream format.
package sse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// DefaultLimit is how many bytes one line, and the data of one event, may have unless [Reader.SetLimit] says otherwise.
const DefaultLimit = 16 << 20

// ErrTooLong is wrapped by the error of a line or an event that is over the limit.
var ErrTooLong = errors.New("sse: event too long")

// An Event is one dispatched event. Its texts are the bytes that came, so invalid UTF-8 is for the caller to replace.
type Event struct {
	ID    string // the last id seen, of this event or an earlier one; resume with it in Last-Event-ID
	Event string // the event's type; "" is what browsers call "message"
	Data  string // the data lines joined by newlines, never empty
}

// A Reader splits a stream into events. It is for one goroutine.
type Reader struct {
	src     *bufio.Reader
	limit   int
	started bool // the place for a byte order mark has passed
	afterCR bool // a line feed that comes next belongs to the carriage return before it
	line    []byte

	id      string
	retry   time.Duration
	kind    string
	data    []byte
	hasData bool
}

// NewReader returns a Reader of r. It never reads past the end of the line that completes an event, except into its
// buffer, so a slow stream yields each event as soon as it is complete.
func NewReader(r io.Reader) *Reader {
	return &Reader{src: bufio.NewReader(r), limit: DefaultLimit}
}

// SetLimit sets how many bytes a line, and the data of an event, may have. Call it before the first [Reader.Next].
func (r *Reader) SetLimit(n int) { r.limit = n }

// LastID returns the last id the stream set. It may belong to an event that carried no data and was never returned.
func (r *Reader) LastID() string { return r.id }

// Retry returns the reconnection time the stream asked for, or zero.
func (r *Reader) Retry() time.Duration { return r.retry }

// Next returns the next event. At the end of the stream it returns [io.EOF]; an event that was not closed by a blank line
// is dropped, as the standard wants, because it may be cut short. A line or event over the limit is an error that wraps
// [ErrTooLong]. After an error the Reader is of no further use.
func (r *Reader) Next() (Event, error) {
	for {
		line, err := r.readLine()
		if err != nil {
			return Event{}, err
		}
		if len(line) > 0 {
			if err := r.field(line); err != nil {
				return Event{}, err
			}
			continue
		}
		event := Event{ID: r.id, Event: r.kind, Data: string(r.data)}
		r.kind, r.data, r.hasData = "", r.data[:0], false
		if event.Data != "" {
			return event, nil
		}
	}
}

func (r *Reader) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		r.kind = string(value)
	case "data":
		if len(r.data)+len(value)+1 > r.limit {
			return fmt.Errorf("%w: its data has more than %d bytes", ErrTooLong, r.limit)
		}
		if r.hasData {
			r.data = append(r.data, '\n')
		}
		r.data, r.hasData = append(r.data, value...), true
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			r.id = string(value)
		}
	case "retry":
		// ParseUint also refuses signs, so only digits pass.
		if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
			r.retry = time.Duration(ms) * time.Millisecond
		}
	}
	return nil // a comment has the empty name; other names are ignored
}

// readLine returns the next line without its ending, which is CR, LF or CRLF. It does not wait for the byte after a CR.
func (r *Reader) readLine() ([]byte, error) {
	r.line = r.line[:0]
	for {
		c, err := r.src.ReadByte()
		if err != nil {
			return nil, err
		}
		wasCR := r.afterCR
		r.afterCR = c == '\r'
		switch {
		case c == '\n' && wasCR:
			continue
		case c == '\n' || c == '\r':
			return r.trimBOM(), nil
		}
		if len(r.line) >= r.limit {
			return nil, fmt.Errorf("%w: a line has more than %d bytes", ErrTooLong, r.limit)
		}
		r.line = append(r.line, c)
	}
}

func (r *Reader) trimBOM() []byte {
	if r.started {
		return r.line
	}
	r.started = true
	return bytes.TrimPrefix(r.line, []byte("\xEF\xBB\xBF"))
}
