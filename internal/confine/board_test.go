package confine

import (
	"bytes"
	"testing"
)

// TestBoard reads what another mapping of the same memory writes.
func TestBoard(t *testing.T) {
	ours, file, err := newBoard()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.close()
	theirs, err := openBoard(file)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.close()
	long := bytes.Repeat([]byte("x"), 2*maxNote)
	for call, note := range map[uint32][]byte{1: []byte("a loop"), 2: {}, 17: []byte("the same place as 1"), 3: long} {
		theirs.write(call, note)
		if got := ours.read(call); !bytes.Equal(got, note[:min(len(note), slotSize-slotHead)]) {
			t.Errorf("call %d: %.40q", call, got)
		}
		if got := ours.read(call + slots); got != nil {
			t.Errorf("another call in the place of %d: %.40q", call, got)
		}
	}
	for i := range theirs {
		theirs[i] = 0xff // whatever a worker writes
	}
	if got := ours.read(0xffffffff); len(got) != slotSize-slotHead {
		t.Errorf("%d bytes", len(got))
	}
	board(nil).write(1, nil)
	if got := board(nil).read(1); got != nil {
		t.Errorf("no board says %q", got)
	}
}
