package yamldoc

import (
	"encoding/json"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// wire is a Value on its way to another process. The file of a part is left out
// where it is that of what holds it.
type wire struct {
	Kind    Kind        `json:"k,omitempty"`
	Text    string      `json:"t,omitempty"`
	Tag     string      `json:"g,omitempty"`
	Items   []*wire     `json:"i,omitempty"`
	Entries []wireEntry `json:"e,omitempty"`
	File    *string     `json:"f,omitempty"`
	Line    int         `json:"l,omitempty"`
}

type wireEntry struct {
	Key   string  `json:"k"`
	Value *wire   `json:"v"`
	File  *string `json:"f,omitempty"`
	Line  int     `json:"l,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (v *Value) MarshalJSON() ([]byte, error) { return json.Marshal(v.wire("")) }

func (v *Value) wire(file string) *wire {
	w := &wire{Kind: v.Kind, Text: v.Text, Tag: v.tag, Line: v.Position.Line}
	if v.Position.File != file {
		file = v.Position.File
		w.File = &file
	}
	for _, item := range v.Items {
		w.Items = append(w.Items, item.wire(file))
	}
	for _, e := range v.Entries {
		one := wireEntry{Key: e.Key, Value: e.Value.wire(file), Line: e.Position.Line}
		if e.Position.File != file {
			one.File = &e.Position.File
		}
		w.Entries = append(w.Entries, one)
	}
	return w
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *Value) UnmarshalJSON(data []byte) error {
	var w wire
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*v = *w.value("")
	return nil
}

func (w *wire) value(file string) *Value {
	if w.File != nil {
		file = *w.File
	}
	v := &Value{Kind: w.Kind, Text: w.Text, Position: finding.Position{File: file, Line: w.Line}, tag: w.Tag}
	for _, item := range w.Items {
		v.Items = append(v.Items, item.value(file))
	}
	for _, e := range w.Entries {
		at := finding.Position{File: file, Line: e.Line}
		if e.File != nil {
			at.File = *e.File
		}
		v.Entries = append(v.Entries, Entry{Key: e.Key, Value: e.Value.value(file), Position: at})
	}
	return v
}
