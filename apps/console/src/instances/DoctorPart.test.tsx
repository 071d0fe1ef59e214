import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import {
  CONNECTION_FINDINGS,
  type ConnectionFinding,
  type ConnectionFindingCode,
  diagnoseConnection,
} from '@berth/contract/connection-doctor'
import { LANGUAGES } from '@berth/contract/limits'
import { act, fireEvent, screen } from '@testing-library/react'
import { expect, test, vi } from 'vitest'
import { renderInPage } from '../component-fixture.tsx'
import { answerCalls, InShell, Refusal } from '../gateway-fixture.tsx'
import { DoctorPart } from './DoctorPart.tsx'

const made = (code: ConnectionFindingCode, part: Partial<ConnectionFinding> = {}): ConnectionFinding => ({
  code,
  ...CONNECTION_FINDINGS[code],
  port: null,
  values: {},
  ...part,
})

/** Opens the part. @returns How to ask, and how often was asked. */
async function open(answer: () => ConnectionFinding[] | Refusal) {
  const asked = vi.fn()
  await answerCalls({
    [diagnoseConnection.operation]: () => {
      asked()
      const findings = answer()
      if (findings instanceof Refusal) return findings
      return { instance_id: 'i-000000', checked_at: '2026-11-20T12:00:00.000Z', findings }
    },
  })
  await renderInPage(
    () => (
      <InShell>
        <DoctorPart instanceId="i-000000" />
      </InShell>
    ),
    { namespaces: ['doctor'] },
  )
  const ask = async (name: string) => {
    const button = await screen.findByRole('button', { name })
    await act(async () => fireEvent.click(button))
  }
  return { ask, asked }
}

test('[B8] nothing is tried before it is asked for, and each finding says what is so, what to do and where', async () => {
  const { ask, asked } = await open(() => [
    made('key_unknown', {
      values: {
        at: '2026-11-20T12:00:00.000Z',
        address: '192.0.2.7',
        type: 'ssh-rsa',
        fingerprint: 'SHA256:ab',
      },
    }),
    made('port_silent', { port: 8_080 }),
    made('http_answers', { port: 8_081, values: { status: 200 } }),
  ])
  expect(asked).not.toHaveBeenCalled()
  await ask('Find out why')
  expect(await screen.findByText(/from 192\.0\.2\.7\) offered a key .*: ssh-rsa SHA256:ab\./)).toBeTruthy()
  expect(screen.getByText(/ssh -i FILE/)).toBeTruthy()
  expect(screen.getByText('Nothing listens on port 8080.')).toBeTruthy()
  expect(screen.getByText('The service on port 8081 answers with 200.')).toBeTruthy()
  const ways = screen.getAllByRole('link').map(link => link.getAttribute('href'))
  expect(ways).toEqual(['/settings?section=ssh-keys', '/instance-list?dialog=logs&instance=i-000000'])
  expect(screen.queryByText(/Nothing is wrong/)).toBeNull()
})

test('[B8] where all is well that is said, and it can be looked at again', async () => {
  let findings = [made('shell_works'), made('nobody_asked')]
  const { ask, asked } = await open(() => findings)
  await ask('Find out why')
  expect(await screen.findByText(/Nothing is wrong as far as/)).toBeTruthy()
  findings = [made('instance_stopped')]
  await ask('Look again')
  expect(await screen.findByText('The instance does not run.')).toBeTruthy()
  expect(screen.queryByText(/Nothing is wrong/)).toBeNull()
  expect(asked).toHaveBeenCalledTimes(2)
})

test('[B8] a diagnosis that fails says why, and can be asked for anew', async () => {
  let answer: ConnectionFinding[] | Refusal = new Refusal([], 'unavailable', 503)
  const { ask } = await open(() => answer)
  await ask('Find out why')
  expect(await screen.findByRole('alert')).toBeTruthy()
  answer = [made('shell_works')]
  await ask('Try again')
  expect(await screen.findByText('A shell answers in the machine.')).toBeTruthy()
})

test.each(LANGUAGES)(
  '[B8] %s has a sentence for each finding, and advice for each that is not good',
  language => {
    const file = resolve(import.meta.dirname, `../../public/locales/${language}/doctor.json`)
    const texts = JSON.parse(readFileSync(file, 'utf8'))
    const codes = Object.keys(CONNECTION_FINDINGS) as ConnectionFindingCode[]
    expect(Object.keys(texts.said).sort()).toEqual(codes.toSorted())
    const advised = codes.filter(code => CONNECTION_FINDINGS[code].level !== 'good')
    expect(Object.keys(texts.do).sort()).toEqual(advised.toSorted())
  },
)
