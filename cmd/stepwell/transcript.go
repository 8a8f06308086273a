package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

// writeTranscript shows items to people.
func writeTranscript(w io.Writer, st style, items []api.TranscriptItem) error {
	var b strings.Builder
	for _, it := range items {
		switch it := it.(type) {
		case api.Turn:
			for _, p := range it.Parts {
				writePart(&b, st, p)
			}
			switch it.Outcome {
			case api.TurnFailed, api.TurnAborted:
				b.WriteString(st.dim("("+string(it.Outcome)+")") + "\n")
			case api.TurnOpen:
				b.WriteString(st.dim("(not answered yet)") + "\n")
			case api.TurnDone:
			}
			b.WriteByte('\n')
		case api.CheckpointMarker:
			b.WriteString(st.dim("= the model's context starts anew here: "+oneLine(it.Summary, 500)) + "\n\n")
		case api.SummaryMarker:
			b.WriteString(st.dim("= summary: "+oneLine(it.Text, 500)) + "\n\n")
		case api.ConfigMarker:
			b.WriteString(st.dim("= configured: "+configText(it.Config)) + "\n\n")
		case api.NoteMarker:
			b.WriteString(st.dim("= note "+oneLine(it.Type, 60)) + "\n\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writePart(b *strings.Builder, st style, p api.TranscriptPart) {
	switch p := p.(type) {
	case api.UserPart:
		b.WriteString(st.bold(who(p.Author)+": ") + plain(p.Content) + "\n")
	case api.AssistantPart:
		b.WriteString(printable(p.Text) + "\n")
	case api.ThinkingPart:
		b.WriteString(st.dim("~ "+printable(p.Text)) + "\n")
	case api.ToolPart:
		fmt.Fprintf(b, "  → %s %s\n", oneLine(p.Tool, 64), st.dim(oneLine(string(p.Args), 200)))
		if p.Result != nil {
			mark := "←"
			if p.Result.IsError {
				mark = st.red("✗")
			}
			fmt.Fprintf(b, "  %s %s: %s\n", mark, oneLine(p.Tool, 64), oneLine(plain(p.Result.Content), 500))
		}
	case api.NotePart:
		b.WriteString(st.red("! "+oneLine(p.Text, 500)) + "\n")
	}
}
