package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// emit writes v as one line of JSON.
func emit(w io.Writer, v any) error {
	data, err := api.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding the answer: %w", err)
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

// table writes rows in columns. Cells must not contain tabs or line ends; [oneLine] sees to that.
func table(w io.Writer, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		if _, err := fmt.Fprintln(t, strings.Join(r, "\t")); err != nil {
			return err
		}
	}
	return t.Flush()
}

// oneLine returns at most most characters of text on one line. What a terminal would obey is taken out.
func oneLine(text string, most int) string {
	text = strings.Join(strings.Fields(printable(text)), " ")
	runes := []rune(text)
	if len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// printable removes control characters other than tabs and line ends: what a model or a participant wrote must not steer the
// terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == 0x202e {
			return -1
		}
		return r
	}, text)
}

func clock(at object.Millis) string { return at.Time().Local().Format("2006-01-02 15:04:05") }

func timeOfDay(at object.Millis) string { return at.Time().Local().Format(time.TimeOnly) }

// plain returns content as text, with pictures named.
func plain(parts []message.Content) string {
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteByte('\n')
		}
		switch p := p.(type) {
		case message.Text:
			b.WriteString(p.Text)
		case message.Image:
			fmt.Fprintf(&b, "[image %s]", p.MIMEType)
		}
	}
	return printable(b.String())
}

func who(a *object.Actor) string {
	if a == nil {
		return "someone"
	}
	return oneLine(firstOf(a.UserID, a.Device, a.ClientID, "someone"), 40)
}

// phase returns a run's phase in a few words.
func phase(p object.Phase) string {
	switch p := p.(type) {
	case object.Respond:
		return "responding"
	case object.Tools:
		return "running tools"
	case object.WaitingPhase:
		return "waiting"
	case object.Retry:
		return fmt.Sprintf("retrying at %s: %s", timeOfDay(p.At), oneLine(p.Error, 200))
	case object.Done:
		return "done"
	case object.Aborted:
		return "aborted"
	case object.Failed:
		return fmt.Sprintf("failed (%s): %s", p.Class, oneLine(p.Error, 500))
	}
	return "unknown"
}
