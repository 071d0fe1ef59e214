import { type ApiKey, createApiKey, editApiKey, listApiKeys, revokeApiKey } from '@berth/contract/api-keys'
import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Suspense, useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { balanceQuery, queryOf } from '../../../api/queries.ts'
import { useChange } from '../../../api/use-change.ts'
import { lazyPart } from '../../../app/lazy-part.ts'
import { VerifiedButton } from '../../../app/session/VerifiedButton.tsx'
import { List } from '../../../lists/List.tsx'
import { useAsked } from '../../../lists/use-asked.ts'
import { type ApiKeyState, apiKeyState } from '../../../models/api-key-state.ts'
import { useFormat } from '../../../ui/format.ts'
import { type Column, TwoLines } from '../../../ui/RowTable.tsx'
import { StatusBadge, type StatusLook } from '../../../ui/StatusBadge.tsx'
import { toast } from '../../../ui/toast.ts'
import { SectionCard } from '../SectionCard.tsx'
import { AddButton } from './AddButton.tsx'
import classes from './Keys.module.css'

const ModelCode = lazyPart(() => import('./ModelCode.tsx').then(module => module.ModelCode))
const KeepingCard = lazyPart(() => import('./KeepingCard.tsx').then(module => module.KeepingCard))
const CreateApiKeyDialog = lazyPart(() =>
  import('./CreateApiKeyDialog.tsx').then(module => module.CreateApiKeyDialog),
)
const EditApiKeyDialog = lazyPart(() =>
  import('./EditApiKeyDialog.tsx').then(module => module.EditApiKeyDialog),
)
const ConfirmDialog = lazyPart(() =>
  import('../../../ui/ConfirmDialog.tsx').then(module => module.ConfirmDialog),
)

const LOOKS: Record<ApiKeyState, StatusLook> = {
  active: { shape: 'dot', tone: 'good' },
  expired: { shape: 'ring', tone: 'warning' },
  revoked: { shape: 'cross', tone: 'quiet' },
}

/** The account's keys for calling models (B10). */
export function ApiKeysSection() {
  const { t } = useTranslation('keys')
  const revoke = useChange(revokeApiKey)
  const list = useQuery(queryOf(listApiKeys, {}))
  const making = useAsked<{ at: number }>()
  const revoking = useAsked<ApiKey>()
  const editing = useAsked<ApiKey>()
  const columns = useColumns(editing.ask, revoking.ask)
  const name = revoking.what?.name ?? ''
  return (
    <>
      <SectionCard
        kind="rows"
        title={t('api.title')}
        lead={t('api.lead')}
        aside={
          <AddButton
            call={createApiKey}
            fallback={revoking.fallback}
            onClick={() => making.ask({ at: Date.now() })}
          >
            {t('api.add')}
          </AddButton>
        }
      >
        <List
          label={t('api.label')}
          query={list}
          rows={list.data}
          keyOf={({ id }) => id}
          columns={columns}
          skeletonRows={2}
          none={{ title: t('api.none'), hint: t('api.none_hint') }}
        />
      </SectionCard>
      <Suspense>
        <ModelCode />
      </Suspense>
      <Suspense>
        <KeepingCard />
      </Suspense>
      <Suspense>
        {making.what && (
          // A key that was shown is gone with its dialog: each one is new.
          <CreateApiKeyDialog key={making.what.at} opened={making.opened} onClose={making.close} />
        )}
        {editing.what && (
          <EditApiKeyDialog
            key={editing.what.id}
            apiKey={editing.what}
            opened={editing.opened}
            onClose={editing.close}
          />
        )}
        {revoking.what && (
          <ConfirmDialog
            danger
            opened={revoking.opened}
            title={t('api.confirm.title', { name })}
            confirmLabel={t('api.revoke')}
            onConfirm={async () => {
              await revoke.send({ params: { id: revoking.what?.id ?? '' } })
              toast.good(t('api.confirm.done', { name }))
            }}
            onClose={revoking.close}
          >
            {t('api.confirm.text', { prefix: `${revoking.what.prefix}…` })}
          </ConfirmDialog>
        )}
      </Suspense>
    </>
  )
}

function useColumns(edit: (key: ApiKey) => void, revoke: (key: ApiKey) => void): Column<ApiKey>[] {
  const { t } = useTranslation('keys')
  const format = useFormat()
  const currency = useQuery(balanceQuery).data?.currency ?? 'USD'
  return useMemo(
    () => [
      {
        key: 'name',
        narrow: 'name',
        header: t('api.name'),
        cell: key => <TwoLines strong mono first={key.name} second={`${key.prefix}…`} />,
      },
      {
        key: 'limits',
        narrow: 'under',
        header: t('api.limits.title'),
        width: '28%',
        cell: key => {
          const { models, spend_limit: spend, requests_per_minute: calls, tokens_per_minute: tokens } = key
          const what = models
            ? t('api.limits.said.models', { count: models.length })
            : t('api.limits.scopes.all')
          const often = [
            ...(calls === null ? [] : [t('api.limits.said.calls', { count: calls })]),
            ...(tokens === null
              ? []
              : [t('api.limits.said.tokens', { count: tokens, tokens: format.number(tokens) })]),
          ]
          const spent =
            spend &&
            t(`api.limits.said.spent.${spend.period}`, {
              spent: format.money(spend.spent_micro, currency),
              limit: format.cents(spend.amount, currency),
            })
          const cost = spend && (spend.stops ? spent : `${spent} · ${t('api.limits.said.warns')}`)
          return <TwoLines first={[what, ...often].join(' · ')} second={cost ?? t('api.limits.said.free')} />
        },
      },
      {
        key: 'used',
        narrow: null,
        header: t('api.used'),
        cell: key => (key.last_used_at ? format.moment(key.last_used_at) : t('api.not_used')),
      },
      {
        key: 'expires',
        narrow: null,
        header: t('api.expires'),
        cell: key => (key.expires_at ? format.date(key.expires_at) : t('never')),
      },
      {
        key: 'state',
        narrow: 'last',
        header: t('api.state'),
        cell: key => {
          const state = apiKeyState(key, new Date())
          const reason = key.revoked_at ? format.moment(key.revoked_at) : undefined
          return <StatusBadge look={LOOKS[state]} label={t(`api.states.${state}`)} reason={reason} />
        },
      },
      {
        key: 'actions',
        narrow: 'actions',
        header: '',
        said: t('actions'),
        align: 'end',
        width: '20rem',
        cell: key =>
          apiKeyState(key, new Date()) === 'active' && (
            <span className={classes.rowButtons}>
              <VerifiedButton
                call={editApiKey}
                size="xs"
                variant="default"
                aria-label={t('api.edit_of', { name: key.name })}
                onClick={() => edit(key)}
              >
                {t('api.edit')}
              </VerifiedButton>
              <Button
                size="xs"
                variant="default"
                aria-label={t('api.revoke_of', { name: key.name })}
                onClick={() => revoke(key)}
              >
                {t('api.revoke')}
              </Button>
            </span>
          ),
      },
    ],
    [t, format, currency, edit, revoke],
  )
}
