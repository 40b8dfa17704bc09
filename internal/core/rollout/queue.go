package rollout

import (
	"math/bits"
	"slices"
)

// queues holds the components whose requirements are all Healthy, by what they
// have in common: the steps they wait for and the step whose limit and approval
// counts. A closed step thus costs nothing, however many components wait in it.
type queues struct {
	list  []queue  // by after, then step
	of    []int32  // queue of a component
	used  []uint64 // bit set of the queues that are not empty
	held  []bool   // whether a component is in its queue
	ahead func(i, j int32) bool
}

type queue struct {
	after int // groups that must be settled
	step  int // -1: a step without limit and approval
	heap  []int32
}

type queueKey struct{ after, step int }

// newQueues makes empty queues for components with the given keys.
func newQueues(keys []queueKey, ahead func(i, j int32) bool) queues {
	distinct := slices.Clone(keys)
	slices.SortFunc(distinct, func(a, b queueKey) int {
		if a.after != b.after {
			return a.after - b.after
		}
		return a.step - b.step
	})
	distinct = slices.Compact(distinct)
	q := queues{
		list: make([]queue, len(distinct)), of: make([]int32, len(keys)),
		used: make([]uint64, (len(distinct)+63)/64), held: make([]bool, len(keys)), ahead: ahead,
	}
	index := make(map[queueKey]int32, len(distinct))
	for k, key := range distinct {
		q.list[k] = queue{after: key.after, step: key.step}
		index[key] = int32(k)
	}
	for i, key := range keys {
		q.of[i] = index[key]
	}
	return q
}

// push adds a component to its queue; one that is there already stays.
func (q *queues) push(i int32) {
	if q.held[i] {
		return
	}
	q.held[i] = true
	k := q.of[i]
	q.list[k].heap = append(q.list[k].heap, i)
	h := q.list[k].heap
	at := len(h) - 1
	for at > 0 && q.ahead(h[at], h[(at-1)/2]) {
		h[at], h[(at-1)/2] = h[(at-1)/2], h[at]
		at = (at - 1) / 2
	}
	q.used[k/64] |= 1 << (k % 64)
}

// pop removes the first component of a queue.
func (q *queues) pop(k int) {
	h := q.list[k].heap
	q.held[h[0]] = false
	h[0] = h[len(h)-1]
	h = h[:len(h)-1]
	for at := 0; ; {
		child := 2*at + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && q.ahead(h[child+1], h[child]) {
			child++
		}
		if !q.ahead(h[child], h[at]) {
			break
		}
		h[at], h[child] = h[child], h[at]
		at = child
	}
	q.list[k].heap = h
	if len(h) == 0 {
		q.used[k/64] &^= 1 << (k % 64)
	}
}

// open calls visit for every queue that is not empty and waits for no more than
// the first settled groups.
func (q *queues) open(settled int, visit func(k int)) {
	for w, word := range q.used {
		for word != 0 {
			k := w*64 + bits.TrailingZeros64(word)
			word &= word - 1
			if q.list[k].after > settled {
				return
			}
			visit(k)
		}
	}
}
