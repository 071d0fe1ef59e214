import { getSettings } from '@berth/contract/account'
import { type DeploySetup, getInstanceSetup } from '@berth/contract/deploy-templates'
import { deployBody, editInstance, type Instance } from '@berth/contract/instances'
import { listSshKeys, type SshKey } from '@berth/contract/ssh-keys'
import { act, fireEvent, screen, waitFor } from '@testing-library/react'
import { expect, test, vi } from 'vitest'
import { renderInPage } from '../component-fixture.tsx'
import { answerCalls, InShell } from '../gateway-fixture.tsx'
import { sampleOf } from '../schema-fixture.ts'
import { EditDialog } from './EditDialog.tsx'
import { madeInstance } from './instance-fixture.ts'

const SETUP = deployBody.parse({
  ...{ name: 'llama', region_code: 'us-west', gpu_spec_id: 'cpu', gpu_count: 1, container_disk_gb: 20 },
  image_id: 'base',
})
const KEYS = ['laptop', 'desktop'].map((name, at) => ({
  ...(sampleOf(listSshKeys.data) as SshKey[])[0],
  id: `0198b7a0-0000-7000-8000-00000000000${at}`,
  name,
}))
const STOP_AT = '2026-12-24T18:05:07.123Z'

/** Opens the dialog of an instance. Returns what it sends, and how to type and save. */
async function open(part: Partial<Instance>, setup: Partial<DeploySetup> = {}, directPorts = true) {
  const sent = vi.fn()
  const onClose = vi.fn()
  await answerCalls({
    [getSettings.operation]: () => ({ ...(sampleOf(getSettings.data) as object), direct_ports: directPorts }),
    [getInstanceSetup.operation]: () => ({ ...SETUP, ...setup }),
    [listSshKeys.operation]: () => KEYS,
    [editInstance.operation]: ({ body }) => {
      sent(body)
      return { instance_id: 'i-000000', status: 'running' }
    },
  })
  await renderInPage(
    () => (
      <InShell>
        <EditDialog instance={madeInstance({ name: 'llama', ...part })} opened onClose={onClose} />
      </InShell>
    ),
    { namespaces: ['instances', 'deploy'] },
  )
  const type = async (label: RegExp, value: string) => {
    const field = await screen.findByLabelText(label)
    await act(async () => fireEvent.change(field, { target: { value } }))
  }
  const save = async () => {
    const button = await screen.findByRole('button', { name: 'Save' })
    await act(async () => fireEvent.click(button))
  }
  return { sent, onClose, type, save }
}

test('[B5] only what was changed is sent: a moment of one’s own clock, an amount as it is typed', async () => {
  const { sent, onClose, type, save } = await open({ stop_at: STOP_AT })
  await type(/^Spend limit/, '12.5')
  await save()
  await waitFor(() => expect(onClose).toHaveBeenCalled())
  expect(sent).toHaveBeenCalledExactlyOnceWith({ instance_id: 'i-000000', spend_limit_cents: 1_250 })
})

test('[B5] a rule that is emptied is taken away, and a moment is sent with its zone', async () => {
  const { sent, onClose, type, save } = await open({ spend_limit_cents: 500 })
  await type(/^Spend limit/, '')
  await type(/^Stop at/, '2026-12-24T18:05')
  await save()
  await waitFor(() => expect(onClose).toHaveBeenCalled())
  const stop_at = new Date('2026-12-24T18:05').toISOString()
  expect(sent).toHaveBeenCalledExactlyOnceWith({ instance_id: 'i-000000', stop_at, spend_limit_cents: null })
})

test('[B5] how long it may be idle is sent in minutes, and what is none is said at its field', async () => {
  const { sent, onClose, type, save } = await open({ idle_stop_minutes: 30 })
  await type(/^Stop when idle/, 'long')
  await save()
  await screen.findByText(/must be a number/)
  expect(sent).not.toHaveBeenCalled()
  await type(/^Stop when idle/, '45')
  await save()
  await waitFor(() => expect(onClose).toHaveBeenCalled())
  expect(sent).toHaveBeenCalledExactlyOnceWith({ instance_id: 'i-000000', idle_stop_minutes: 45 })
})

test('[B5] an amount that is none is said at its field, and nothing is sent', async () => {
  const { sent, type, save } = await open({})
  await type(/^Spend limit/, 'ten')
  await save()
  expect(await screen.findByText('Invalid amount: enter from 0.01 to 1,000,000.00')).toBeTruthy()
  expect(screen.getByLabelText<HTMLInputElement>(/^Spend limit/).value).toBe('ten')
  expect(sent).not.toHaveBeenCalled()
})

test('[R4.5] ports are sent as they are typed, and at once: nothing is to be restarted for them', async () => {
  const { sent, onClose, type, save } = await open({}, { tcp_ports: [22], http_ports: [8080] })
  await type(/^TCP ports/, '22, 6006')
  expect(screen.queryByLabelText(/^Restart it now/)).toBeNull()
  await save()
  await waitFor(() => expect(onClose).toHaveBeenCalled())
  expect(sent).toHaveBeenCalledExactlyOnceWith({ instance_id: 'i-000000', tcp_ports: [22, 6_006] })
})

test('[R4.5] a port that is none is said at its field, and nothing that was typed is lost', async () => {
  const { sent, type, save } = await open({}, { tcp_ports: [22] })
  await type(/^TCP ports/, '22, 70000')
  await save()
  expect(await screen.findByText(/1 to 65535|between 1 and 65535/)).toBeTruthy()
  expect(screen.getByLabelText<HTMLInputElement>(/^TCP ports/).value).toBe('22, 70000')
  expect(sent).not.toHaveBeenCalled()
})

test('[R4.5] what waits for a start says so, and a restart is sent with it where it is wanted', async () => {
  const { sent, onClose, type, save } = await open({}, { start_command: 'serve' })
  await type(/^Start command/, 'serve --all')
  fireEvent.click(await screen.findByLabelText(/^Restart it now/))
  await save()
  await waitFor(() => expect(onClose).toHaveBeenCalled())
  const changed = { instance_id: 'i-000000', start_command: 'serve --all', restart: true }
  expect(sent).toHaveBeenCalledExactlyOnceWith(changed)
})

test('[R4.5] one that is stopped has nothing to be restarted', async () => {
  const { type } = await open({ status: 'stopped' }, { start_command: 'serve' })
  await type(/^Start command/, 'serve --all')
  expect(screen.queryByLabelText(/^Restart it now/)).toBeNull()
})

test('[R4.5] variables that were changed are sent, those that went as null, and a secret keeps what nobody is told', async () => {
  const { sent, onClose, type, save } = await open(
    {},
    { env: { KEPT: 'a', GOES: 'b', TOKEN: '' }, secret_env: ['TOKEN'] },
  )
  const token = await screen.findByLabelText<HTMLInputElement>('Value of TOKEN')
  expect(token.placeholder).toBe('kept as it is; type to replace')
  await act(async () => fireEvent.click(screen.getByRole('button', { name: 'Remove GOES', hidden: true })))
  await type(/^Value of KEPT/, 'c')
  await save()
  await waitFor(() => expect(onClose).toHaveBeenCalled())
  expect(sent).toHaveBeenCalledExactlyOnceWith({ instance_id: 'i-000000', env: { KEPT: 'c', GOES: null } })
})

test('[R4.5] a secret that gets another name is not emptied: what is kept is typed again, or keeps its name', async () => {
  const { sent, onClose, type, save } = await open({}, { env: { TOKEN: '' }, secret_env: ['TOKEN'] })
  await type(/^Name of TOKEN/, 'HF_TOKEN')
  expect(await screen.findByText(/^What is kept belongs to the former name/)).toBeTruthy()
  await save()
  await type(/^Name of HF_TOKEN/, '')
  await save()
  expect(sent).not.toHaveBeenCalled()
  await type(/^Name of variable 1/, 'HF_TOKEN')
  await type(/^Value of HF_TOKEN/, 'hf_1')
  expect(screen.queryByText(/^What is kept belongs to the former name/)).toBeNull()
  await save()
  await waitFor(() => expect(onClose).toHaveBeenCalled())
  expect(sent).toHaveBeenCalledExactlyOnceWith({
    instance_id: 'i-000000',
    env: { HF_TOKEN: 'hf_1', TOKEN: null },
    secret_env: ['HF_TOKEN'],
  })
})

test('[B7] a port that is reached both by HTTP and directly is noted, and is no fault', async () => {
  const { sent, onClose, type, save } = await open({}, { tcp_ports: [22], http_ports: [8080] })
  expect(screen.queryByText(/reached both by HTTP and directly/)).toBeNull()
  await type(/^TCP ports/, '22, 8080')
  expect(await screen.findByText(/^Port 8080 is reached both by HTTP and directly/)).toBeTruthy()
  await save()
  await waitFor(() => expect(onClose).toHaveBeenCalled())
  expect(sent).toHaveBeenCalledExactlyOnceWith({ instance_id: 'i-000000', tcp_ports: [22, 8_080] })
})

test('[R1.7] of the keys that are stored those are chosen that may sign in; one that is gone is no more among them', async () => {
  const gone = '0198b7a0-0000-7000-8000-000000000009'
  const { sent, onClose, save } = await open({}, { ssh_key_ids: [gone, KEYS[0]?.id ?? ''] })
  const laptop = await screen.findByLabelText<HTMLInputElement>(/^laptop/)
  expect(laptop.checked).toBe(true)
  await act(async () => fireEvent.click(laptop))
  await act(async () => fireEvent.click(screen.getByLabelText(/^desktop/)))
  expect(screen.getByText('1 of 2 SSH keys: desktop')).toBeTruthy()
  await save()
  await waitFor(() => expect(onClose).toHaveBeenCalled())
  expect(sent).toHaveBeenCalledExactlyOnceWith({ instance_id: 'i-000000', ssh_key_ids: [KEYS[1]?.id] })
})

test('[R2.23] where nobody reaches direct ports, their fields say so and take none; those that are there can be taken away', async () => {
  await open({}, { tcp_ports: [22] }, false)
  const udp = await screen.findByLabelText<HTMLInputElement>('UDP ports')
  await waitFor(() => expect(udp.disabled).toBe(true))
  const tcp = screen.getByLabelText<HTMLInputElement>('TCP ports')
  expect(tcp.disabled).toBe(false)
  expect(screen.getByLabelText<HTMLInputElement>('HTTP ports').disabled).toBe(false)
  expect(screen.getAllByText(/^not offered here: no address of this installation leads to it/)).toHaveLength(
    2,
  )
})

test('[R2.23] an instance with an address of its own opens direct ports there', async () => {
  const eip = {
    ...{ id: 'a', type: 'dedicated' as const, address: '198.51.100.7' },
    ...{ rate_micro_per_hour: '5000', costs_from: null },
  }
  await open({ eip }, {}, false)
  const udp = await screen.findByLabelText<HTMLInputElement>('UDP ports')
  expect(udp.disabled).toBe(false)
  expect(screen.queryByText(/^not offered here/)).toBeNull()
})
