import { ENV_VARIABLES_MAX } from '@berth/contract/limits'
import { createEvent, fireEvent, screen } from '@testing-library/react'
import { useState } from 'react'
import { expect, test } from 'vitest'
import { renderInPage } from '../../component-fixture.tsx'
import { EnvField } from './EnvField.tsx'
import { type EnvRow, envRows } from './env-rows.ts'

let held: EnvRow[]

async function open(rows: EnvRow[] = []): Promise<void> {
  const Field = () => {
    const [now, setNow] = useState(rows)
    held = now
    return <EnvField rows={now} onChange={setNow} errorAt={() => null} />
  }
  await renderInPage(Field, { namespaces: ['deploy'] })
  await screen.findByLabelText('Add a variable')
}

/** @returns Whether the text went into the field as it stands. */
function paste(label: string, text: string): boolean {
  const field = screen.getByLabelText(label)
  const event = createEvent.paste(field, { clipboardData: { getData: () => text } })
  fireEvent(field, event)
  return !event.defaultPrevented
}

const masked = (name: string) => {
  const field = screen.getByLabelText(`Value of ${name}`)
  return field.getAttribute('type') === 'password' || field.className.includes('masked')
}

test('[B18] a .env pasted into any row fills them all, and what is secret by its name is hidden', async () => {
  await open([
    { name: 'MODE', value: 'old', secret: null },
    { name: 'PLAIN', value: 'x', secret: true },
  ])
  const text =
    '# mine\nexport MODE="new"\nHF_TOKEN=hf_1=\r\nDB_PASSWORD=\'p w\'\nPLAIN=y\nAPI_KEY="a\nb"\nnothing'
  expect(paste('Name of MODE', text)).toBe(false)
  expect(held).toEqual([
    { name: 'MODE', value: 'new', secret: null },
    { name: 'PLAIN', value: 'y', secret: true },
    { name: 'HF_TOKEN', value: 'hf_1=', secret: null },
    { name: 'DB_PASSWORD', value: 'p w', secret: null },
    { name: 'API_KEY', value: 'a\nb', secret: null },
  ])
  expect(held.map(({ name }) => masked(name))).toEqual([false, true, true, true, true])
  expect(screen.getByText('5 variables were read. These lines are no variables: 8.')).toBeTruthy()
  fireEvent.click(screen.getByRole('button', { name: 'Hide the value of HF_TOKEN' }))
  expect(masked('HF_TOKEN')).toBe(false)
})

test('a value of several lines that is no .env stays what it is, and a line is just text', async () => {
  await open([{ name: 'CERT', value: '', secret: null }])
  expect(paste('Value of CERT', '-----BEGIN-----\nabc==\n-----END-----')).toBe(true)
  expect(paste('Value of CERT', 'a=b')).toBe(true)
  expect(paste('Name of CERT', 'OTHER')).toBe(true)
  expect(paste('Add a variable', 'OTHER=1')).toBe(false)
  expect(held.at(-1)).toEqual({ name: 'OTHER', value: '1', secret: null })
})

test('what is typed into the empty row stands in it, and as many rows are taken as may be', async () => {
  await open()
  fireEvent.change(screen.getByLabelText('Add a variable'), { target: { value: 'A' } })
  expect((screen.getByLabelText('Name of A') as HTMLInputElement).value).toBe('A')
  expect(screen.getByLabelText('Add a variable')).not.toBe(screen.getByLabelText('Name of A'))
  paste('Add a variable', Array.from({ length: ENV_VARIABLES_MAX }, (_, at) => `V${at}=`).join('\n'))
  expect(held).toHaveLength(ENV_VARIABLES_MAX)
  expect(screen.getByText(/^50 variables were read\. 1 was left out/)).toBeTruthy()
  fireEvent.click(screen.getByRole('button', { name: 'Remove A' }))
  expect(held).toHaveLength(ENV_VARIABLES_MAX - 1)
})

test('a name that stands twice is refused at its row, and empty rows do not count', () => {
  const row = (name: string, value: string) => ({ name, value, secret: null })
  expect(envRows.parse([row('A', '1'), row('', '')])).toEqual({ A: '1' })
  const { error } = envRows.safeParse([row('A', '1'), row('A', '2')])
  expect(error?.issues).toMatchObject([{ path: ['A'], message: 'env_duplicate' }])
  expect(envRows.safeParse([row('', 'x')]).error?.issues).toMatchObject([{ message: 'env_name' }])
})
