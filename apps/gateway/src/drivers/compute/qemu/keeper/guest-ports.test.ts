import { expect, test } from 'vitest'
import { createGuestPorts } from './guest-ports.ts'
import type { Qmp } from './qmp.ts'

// Goal: of the ways that a hypervisor opens for datagrams there is one for each port of the guest, for as long as somebody
// uses it: it answers by the first that fits. Method: a hypervisor of the test, which does what it is told.

const ADD = /^hostfwd_add \S+ udp::(\d+)-:(\d+)$/
const REMOVE = /^hostfwd_remove \S+ udp::(\d+)$/

test('[R2.23] senders of one UDP port of a guest share its way, which is closed behind the last of them', async () => {
  /** Ways that are open: by the keeper's port, the guest's. */
  const open = new Map<string, string>()
  let added = 0
  const tell = async (line: string) => {
    const [, way = '', port = ''] = ADD.exec(line) ?? []
    const [, closed] = REMOVE.exec(line) ?? []
    if (closed !== undefined) open.delete(closed)
    else if (added++ === 0) return 'Could not set up host forwarding rule'
    else open.set(way, port)
    return ''
  }
  const ports = createGuestPorts({ tell } as Partial<Qmp> as Qmp)
  const [one, two, other] = await Promise.all([5_353, 5_353, 123].map(ports.openUdp))
  // The first that was tried was somebody else's.
  expect([...open.values()].sort()).toEqual(['123', '5353'])
  expect(added).toBe(3)
  one?.close()
  one?.close()
  await ports.openUdp(123).then(flow => flow.close())
  expect([...open.values()].sort()).toEqual(['123', '5353'])
  two?.close()
  await expect.poll(() => [...open.values()]).toEqual(['123'])
  const again = await ports.openUdp(5_353)
  expect([...open.values()].sort()).toEqual(['123', '5353'])
  again.close()
  other?.close()
  await expect.poll(() => open.size).toBe(0)
})
