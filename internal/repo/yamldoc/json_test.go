package yamldoc

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// TestJSON: a value that went to another process and back is the same.
func TestJSON(t *testing.T) {
	v, err := ParseOne("a.yaml", []byte("a: 1\nb: [true, 1.5, ~, \"1\", 0x1F, 2024-01-01, 010]\nc: {d: &x {e: f}, g: *x}\nempty: {}\nnone: []\n"))
	if err != nil {
		t.Fatal(err)
	}
	v = v.With("other", Text("t", finding.Position{File: "b.yaml", Line: 7}))
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var back Value
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(v.Any(), back.Any()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(v.wire(""), back.wire("")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if b, ok := back.At("b").Items[0].Bool(); !ok || !b || !back.At("b").Items[3].IsString() || back.At("other").Position.File != "b.yaml" {
		t.Errorf("%s", data)
	}
}
