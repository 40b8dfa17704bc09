package rollout

import "time"

// timers is a heap of due times, at most one per component, that can change the
// time of a component in place.
type timers struct {
	heap  []int32     // component indexes, earliest due time first
	place []int32     // position in heap, -1 for none
	due   []time.Time // by component
}

func newTimers(n int) timers {
	t := timers{place: make([]int32, n), due: make([]time.Time, n)}
	for i := range t.place {
		t.place[i] = -1
	}
	return t
}

// set gives a component its due time; zero removes it.
func (t *timers) set(i int, due time.Time) {
	at := t.place[i]
	switch {
	case due.IsZero() && at < 0:
	case due.IsZero():
		last := int32(len(t.heap) - 1)
		t.swap(at, last)
		t.heap = t.heap[:last]
		t.place[i] = -1
		if at < last {
			t.fix(at)
		}
	case at < 0:
		t.due[i] = due
		t.heap = append(t.heap, int32(i))
		t.place[i] = int32(len(t.heap) - 1)
		t.fix(t.place[i])
	case !due.Equal(t.due[i]):
		t.due[i] = due
		t.fix(at)
	}
}

// next is the earliest due time and its component; ok is false for none.
func (t *timers) next() (i int, due time.Time, ok bool) {
	if len(t.heap) == 0 {
		return 0, time.Time{}, false
	}
	i = int(t.heap[0])
	return i, t.due[i], true
}

// before breaks ties by index, so that the order of expiry is the same in every
// run.
func (t *timers) before(a, b int32) bool {
	i, j := t.heap[a], t.heap[b]
	if c := t.due[i].Compare(t.due[j]); c != 0 {
		return c < 0
	}
	return i < j
}

func (t *timers) swap(a, b int32) {
	t.heap[a], t.heap[b] = t.heap[b], t.heap[a]
	t.place[t.heap[a]], t.place[t.heap[b]] = a, b
}

func (t *timers) fix(at int32) {
	for at > 0 && t.before(at, (at-1)/2) {
		t.swap(at, (at-1)/2)
		at = (at - 1) / 2
	}
	for {
		child := 2*at + 1
		if int(child) >= len(t.heap) {
			return
		}
		if int(child+1) < len(t.heap) && t.before(child+1, child) {
			child++
		}
		if !t.before(child, at) {
			return
		}
		t.swap(at, child)
		at = child
	}
}
