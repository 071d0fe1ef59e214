import { type ApiKey, createApiKey, editApiKey, listApiKeys } from '@berth/contract/api-keys'
import { listModels } from '@berth/contract/models'
import { fireEvent, screen, waitFor } from '@testing-library/react'
import type { ReactNode } from 'react'
import { expect, test } from 'vitest'
import { renderInPage } from '../../../component-fixture.tsx'
import { answerCalls, InShell } from '../../../gateway-fixture.tsx'
import { sampleOf } from '../../../schema-fixture.ts'
import { ApiKeysSection } from './ApiKeysSection.tsx'
import { CreateApiKeyDialog } from './CreateApiKeyDialog.tsx'

const KEY: ApiKey = {
  ...(sampleOf(editApiKey.data) as ApiKey),
  name: 'laptop',
  models: ['meta/one'],
  spend_limit: {
    amount: 100,
    period: 'month',
    stops: true,
    spent_micro: '30',
    until: '2026-12-01T00:00:00.000Z',
  },
  expires_at: null,
  revoked_at: null,
}

test('in a narrow table no two columns of a key stand in the same place', async () => {
  await show(() => <ApiKeysSection />)
  const row = (await screen.findByText('laptop')).closest('tr') as HTMLTableRowElement
  const places = [...row.cells].map(cell => cell.dataset.narrow).filter(place => place !== 'none')
  expect(places).toEqual(['name', 'under', 'last', 'actions'])
})

test.each(['0,0003', '0.0003', '12.345'])(
  '[R5.8] a limit of %s is refused at its field instead of becoming another one',
  async typed => {
    const { sent } = await show(() => <CreateApiKeyDialog opened onClose={() => undefined} />)
    const field = (await screen.findByLabelText(/^Budget/)) as HTMLInputElement
    fireEvent.change(screen.getByLabelText('Name'), { target: { value: 'limited' } })
    fireEvent.change(field, { target: { value: typed } })
    fireEvent.click(screen.getByRole('button', { name: 'Make key' }))
    await screen.findByText(/^At most two decimals/)
    expect(field.getAttribute('aria-invalid')).toBe('true')
    expect(field.value).toBe(typed)
    expect(sent.filter(({ operation }) => operation === createApiKey.operation)).toEqual([])

    fireEvent.change(field, { target: { value: '12,50' } })
    fireEvent.click(screen.getByRole('button', { name: 'Make key' }))
    await waitFor(() =>
      expect(sent.find(({ operation }) => operation === createApiKey.operation)?.body).toMatchObject({
        spend_limit: { amount: 1_250, period: 'month', stops: true },
      }),
    )
  },
)

async function show(Part: () => ReactNode) {
  const answers = { [listApiKeys.operation]: () => [KEY], [listModels.operation]: () => [] }
  const Page = () => (
    <InShell>
      <Part />
    </InShell>
  )
  const answered = await answerCalls(answers)
  await renderInPage(Page, { namespaces: ['keys', 'models'] })
  return answered
}
