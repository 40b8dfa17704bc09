package kubelet

import (
	"fmt"
	"sync"
)

// addresses hands out the addresses of pods: 10.244.0.0/16, then on to
// 10.255.255.255.
type addresses struct {
	mu    sync.Mutex
	last  int
	taken map[string]bool
	byPod map[string]string
}

// reserve marks an address that a pod already has.
func (a *addresses) reserve(ip string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.taken == nil {
		a.taken, a.byPod = map[string]bool{}, map[string]string{}
	}
	a.taken[ip] = true
}

// next returns the pod's address, always the same one for the same pod.
func (a *addresses) next(pod string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.taken == nil {
		a.taken, a.byPod = map[string]bool{}, map[string]string{}
	}
	if ip, ok := a.byPod[pod]; ok {
		return ip
	}
	for {
		a.last++
		if low := a.last % 256; low == 0 || low == 255 {
			continue // neither a network's nor a broadcast address
		}
		ip := fmt.Sprintf("10.%d.%d.%d", 244+a.last>>16%12, a.last>>8%256, a.last%256)
		if !a.taken[ip] {
			a.taken[ip], a.byPod[pod] = true, ip
			return ip
		}
	}
}

// release forgets a pod's address, which is not handed out again.
func (a *addresses) release(pod string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.byPod, pod)
}
