package eventbus

import (
	"crypto/sha256"
	"encoding/base32"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

// Source is the source of every event, for the bus and in it.
const Source = "stepwell"

// A Type is what an event tells. It is the type of the event, and its detail type on the bus.
type Type string

// The types. See the package comment.
const (
	RunFinished    Type = "dev.stepwell.run.finished"
	RunWaiting     Type = "dev.stepwell.run.waiting"
	RunFailed      Type = "dev.stepwell.run.failed"
	RunAborted     Type = "dev.stepwell.run.aborted"
	SessionDeleted Type = "dev.stepwell.session.deleted"
)

// An Event is an event of CloudEvents 1.0 in its JSON form, which is the detail of the bus's event.
type Event struct {
	SpecVersion     string `json:"specversion"`
	ID              string `json:"id"`     // the same each time that the event is published
	Source          string `json:"source"` // always [Source]
	Type            Type   `json:"type"`
	Subject         string `json:"subject"` // sessions/ID, and /heads/HEAD where it is of a run
	Time            string `json:"time"`    // when it happened: RFC 3339, milliseconds, UTC
	DataContentType string `json:"datacontenttype"`
	Data            Data   `json:"data"`
}

// timeForm is RFC 3339 with milliseconds.
const timeForm = "2006-01-02T15:04:05.000Z"

// At returns when the event happened, zero when it does not say.
func (e Event) At() time.Time {
	at, err := time.Parse(timeForm, e.Time)
	if err != nil {
		return time.Time{}
	}
	return at
}

// Data is what is particular to an event.
type Data struct {
	Tenant    string              `json:"tenant"`
	SessionID api.SessionID       `json:"sessionId"`
	Head      string              `json:"head,omitzero"`
	RunID     string              `json:"runId,omitzero"`
	Seq       int64               `json:"seq,omitzero"`   // of the event in its session: later ones have higher numbers
	Error     string              `json:"error,omitzero"` // of a run that failed, cut after 4 KiB
	Class     object.FailureClass `json:"class,omitzero"` // of that error
	Until     string              `json:"until,omitzero"` // the earliest deadline of the questions, as Time; absent when they have none
	Calls     []string            `json:"calls,omitzero"` // ids of the tool calls that ask, as many as 8 KiB hold
}

// maxError and maxCalls bound what a session may put into an event: a bus takes 256 KB at once.
const (
	maxError = 4 << 10
	maxCalls = 8 << 10
)

// An Origin is one incarnation of a session.
type Origin struct {
	Tenant      string
	Session     api.SessionID
	Incarnation string
}

// id returns the id of the event at a place of the session: it is no other's, in no session that ever was.
func (o Origin) id(place string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{o.Tenant, string(o.Session), o.Incarnation, place}, "\x00")))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])[:32])
}

func (o Origin) event(what Type, place string, at object.Millis) Event {
	return Event{
		SpecVersion: "1.0", ID: o.id(place), Source: Source, Type: what, Subject: "sessions/" + string(o.Session), Time: stamp(at),
		DataContentType: "application/json", Data: Data{Tenant: o.Tenant, SessionID: o.Session},
	}
}

// deleted tells that a session is gone.
func (o Origin) deleted(at object.Millis) Event { return o.event(SessionDeleted, "deleted", at) }

// run tells of a run whose ref was moved.
func (o Origin) run(what Type, m Move, run object.Run) Event {
	e := o.event(what, strconv.FormatInt(m.Seq, 10), m.At)
	e.Subject += "/heads/" + m.Head
	e.Data.Head, e.Data.RunID, e.Data.Seq = m.Head, run.ID, m.Seq
	if f, ok := run.Phase.(object.Failed); ok {
		e.Data.Error, e.Data.Class = cut(f.Error, maxError), f.Class
	}
	return e
}

// typeOf returns what a run in a phase is told as, if it is.
func typeOf(p object.Phase) (Type, bool) {
	switch p.(type) {
	case object.Done:
		return RunFinished, true
	case object.WaitingPhase:
		return RunWaiting, true
	case object.Failed:
		return RunFailed, true
	case object.Aborted:
		return RunAborted, true
	case object.Respond, object.Tools, object.Retry:
		return "", false
	}
	panic("unreachable")
}

func stamp(at object.Millis) string {
	return time.UnixMilli(int64(at)).UTC().Format(timeForm)
}

// cut shortens a text to whole characters.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}
