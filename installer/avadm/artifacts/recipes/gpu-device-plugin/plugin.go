package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Where a container finds the driver: NVIDIA's own images have these in PATH and LD_LIBRARY_PATH.
const (
	inside  = "/usr/local/nvidia"
	program = "nvidia-smi"
)

// An api is one version of the device plug-in API: Kubernetes 1.8 and 1.9 know the first, 1.10 and newer the second.
type api struct {
	version  string // as kubelet wants it last
	service  string // of the plug-in
	register string // method of kubelet
}

var apis = []api{
	{"v1beta1", "/v1beta1.DevicePlugin/", "/v1beta1.Registration/Register"},
	{"v1alpha2", "/deviceplugin.DevicePlugin/", "/deviceplugin.Registration/Register"},
}

// plug answers kubelet: which GPUs there are, and what a container gets that has some of them.
type plug struct {
	gpus  *gpus
	env   []variable
	slots int // containers that may share a card; 1: cards are whole
	every time.Duration
}

type variable struct{ name, value string }

// calls returns the methods of both versions.
func (p *plug) calls() map[string]call {
	found := map[string]call{}
	for _, a := range apis {
		found[a.service+"ListAndWatch"] = p.listAndWatch
		found[a.service+"GetDevicePluginOptions"] = nothing
		found[a.service+"PreStartContainer"] = nothing
	}
	found[apis[0].service+"Allocate"] = p.allocateEach
	found[apis[1].service+"Allocate"] = p.allocateOne
	return found
}

func nothing(_ context.Context, _ message, send func(message) error) error { return send(nil) }

// listAndWatch tells of the GPUs, again whenever one fails or recovers, until kubelet goes.
func (p *plug) listAndWatch(ctx context.Context, _ message, send func(message) error) error {
	var last message
	for first := true; ; first = false {
		if now := listed(p.gpus.known(), p.slots); first || !slices.Equal(now, last) {
			if err := send(now); err != nil {
				return err
			}
			last = now
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(p.every):
		}
	}
}

// listed is a ListAndWatchResponse.
func listed(known []gpu, slots int) message {
	var m message
	for _, g := range known {
		health := "Healthy"
		if g.ill != "" {
			health = "Unhealthy"
		}
		for _, id := range shares(g.uuid, slots) {
			m = m.bytes(1, message(nil).text(1, id).text(2, health))
		}
	}
	return m
}

// allocateOne is v1alpha's Allocate: the GPUs of one container.
func (p *plug) allocateOne(_ context.Context, request message, send func(message) error) error {
	ids, err := request.texts(1)
	if err != nil {
		return failed(statusInvalid, "%v", err)
	}
	answer, err := p.given(ids)
	if err != nil {
		return err
	}
	return send(answer)
}

// allocateEach is v1beta1's Allocate: the GPUs of several containers.
func (p *plug) allocateEach(_ context.Context, request message, send func(message) error) error {
	requests, err := request.all(1)
	if err != nil {
		return failed(statusInvalid, "%v", err)
	}
	var answer message
	for _, one := range requests {
		ids, err := one.texts(1)
		if err != nil {
			return failed(statusInvalid, "%v", err)
		}
		given, err := p.given(ids)
		if err != nil {
			return err
		}
		answer = answer.bytes(1, given)
	}
	return send(answer)
}

// given is what one container gets: exactly the device nodes of its GPUs, those that every CUDA program needs, and the
// driver's programs and libraries of this node, read-only.
func (p *plug) given(ids []string) (message, error) {
	cards, err := whole(ids, p.slots)
	if err != nil {
		return nil, err
	}
	devices, err := p.gpus.devices(cards)
	if err != nil {
		return nil, err
	}
	var m message
	env := p.env
	if p.slots > 1 {
		env = append(slices.Clone(env), variable{"GPU_SHARE", fmt.Sprintf("1/%d", p.slots)})
	}
	for _, v := range env {
		m = m.bytes(1, message(nil).text(1, v.name).text(2, v.value))
	}
	root := p.gpus.place.driver
	for _, mount := range [][2]string{{inside, root}, {"/usr/bin/" + program, root + "/bin/" + program}} {
		m = m.bytes(2, message(nil).text(1, mount[0]).text(2, mount[1]).truth(3))
	}
	for _, device := range devices {
		m = m.bytes(3, message(nil).text(1, device.inside).text(2, device.path).text(3, "rw"))
	}
	return m, nil
}
