import { attachVolume, detachVolume } from '@berth/contract/volume-attach-calls'
import { listVolumes } from '@berth/contract/volumes'
import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, test } from 'vitest'
import { PAGES } from '../app/pages.ts'
import { renderInPage } from '../component-fixture.tsx'
import { answerCalls, InShell } from '../gateway-fixture.tsx'
import { madeVolume } from '../pages/network-volume/volume-fixture.ts'
import { madeInstance } from './instance-fixture.ts'
import { AttachVolumeDialog, DetachVolumeDialog } from './VolumeDialogs.tsx'

const CHANGED = { instance_id: 'i-000000', status: 'stopped' }
const stopped = madeInstance({
  instance_id: 'i-000000',
  name: 'trainer',
  status: 'stopped',
  region_code: 'us-west',
})

/** With the texts of a page that has such dialogs, and no others. */
async function open(
  path: '/instance' | '/instance-list',
  Dialog: typeof AttachVolumeDialog,
  instance = stopped,
) {
  const { sent } = await answerCalls({
    [listVolumes.operation]: () => [
      madeVolume(),
      madeVolume({ id: 'v-000001', name: 'away', region_code: 'eu' }),
    ],
    [attachVolume.operation]: () => CHANGED,
    [detachVolume.operation]: () => CHANGED,
  })
  const namespaces = PAGES.find(page => page.path === path)?.namespaces ?? []
  await renderInPage(
    () => (
      <InShell>
        <Dialog instance={instance} opened onClose={() => undefined} />
      </InShell>
    ),
    { namespaces },
  )
  return { of: (call: { operation: string }) => sent.filter(one => one.operation === call.operation) }
}

test('[R1.2] [R2.25] an instance gets one of its region’s volumes at a path', async () => {
  const { of } = await open('/instance-list', AttachVolumeDialog)
  expect(await screen.findByText('Attach a volume to trainer')).toBeTruthy()
  await userEvent.click(await screen.findByRole('button', { name: 'Attach' }))
  await waitFor(() => expect(of(attachVolume)).toHaveLength(1))
  const [sent] = of(attachVolume)
  expect(sent?.path).toContain('/api/netvolume/v-000000/attach')
  expect(sent?.body).toEqual({ instance_id: 'i-000000', path: '/data' })
})

test('[R1.2] [R2.25] it gives its volume back, and is told that what is in it stays', async () => {
  const disks = { ...stopped.disks, network_volume: { id: 'v-000000', path: '/data' } }
  const { of } = await open('/instance', DetachVolumeDialog, { ...stopped, disks })
  expect(await screen.findByText(/datasets is no longer at \/data .* All that is in it stays/)).toBeTruthy()
  await userEvent.click(screen.getByRole('button', { name: 'Detach' }))
  await waitFor(() => expect(of(detachVolume)).toHaveLength(1))
  expect(of(detachVolume)[0]?.body).toEqual({ instance_id: 'i-000000' })
})
