package child_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/plane/child"
)

func TestArgumentsAreParsedBack(t *testing.T) {
	cases := map[string]child.Options{
		"throwaway": {Dir: "/dev/shm/x", Name: "plane", Nodes: 3, Memory: child.DefaultMemory},
		"kept":      {Dir: "/var/x y", Name: "dev", Port: 6443, Nodes: 1, Memory: 1 << 30, Confine: "required", Remove: true, Verbose: true, Plain: true},
		"world":     {Dir: "/x", Name: "n", Memory: child.DefaultMemory, World: []string{"--seed", "7", "-x"}},
	}
	for name, want := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := child.Parse(want.Arguments())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	cases := map[string]struct {
		args []string
		want string
	}{
		"no folder":      {nil, "--dir is missing"},
		"unknown flag":   {[]string{"--dir", "/x", "--colour"}, "colour"},
		"port too large": {[]string{"--dir", "/x", "--port", "65536"}, "65536 is not a port"},
		"negative nodes": {[]string{"--dir", "/x", "--nodes", "-1"}, "-1 is negative"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := child.Parse(tc.args); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Parse(%q) = %v, want %q", tc.args, err, tc.want)
			}
		})
	}
}

func TestMessage(t *testing.T) {
	var b bytes.Buffer
	want := child.Message{Kubeconfig: "/x/kubeconfig", Server: "https://127.0.0.1:6443", Ready: 2 * time.Second}
	if err := want.Write(&b); err != nil {
		t.Fatal(err)
	}
	got, err := child.ReadMessage(&b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMessageOfAFailure(t *testing.T) {
	var b bytes.Buffer
	if err := (child.Message{Error: "etcd: no space left on device"}).Write(&b); err != nil {
		t.Fatal(err)
	}
	if _, err := child.ReadMessage(&b); err == nil || err.Error() != "etcd: no space left on device" {
		t.Errorf("got %v", err)
	}
}

func TestSilentChild(t *testing.T) {
	for name, said := range map[string]string{"nothing": "", "half a line": `{"kubeconfig":`} {
		if _, err := child.ReadMessage(strings.NewReader(said)); !errors.Is(err, child.ErrSilent) {
			t.Errorf("%s: %v, want ErrSilent", name, err)
		}
	}
}

func TestAwaitEnd(t *testing.T) {
	cases := map[string]struct {
		heard string
		ended bool
	}{
		"parent gone":          {"", true},
		"kept":                 {child.Keep, false},
		"kept, then gone":      {child.Keep + "anything", false},
		"half a word":          {"ke", true},
		"some other word":      {"stay\n", true},
		"the word without end": {strings.TrimSpace(child.Keep), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := child.AwaitEnd(strings.NewReader(tc.heard)); got != tc.ended {
				t.Errorf("AwaitEnd(%q) = %v, want %v", tc.heard, got, tc.ended)
			}
		})
	}
}
