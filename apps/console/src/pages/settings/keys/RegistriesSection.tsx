import {
  addRegistryCredential,
  checkRegistryCredential,
  listRegistryCredentials,
  type RegistryCheckResult,
  type RegistryCredential,
  removeRegistryCredential,
} from '@berth/contract/registries'
import { ActionIcon, Button } from '@mantine/core'
import { IconPencil, IconTrash } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Suspense } from 'react'
import { useTranslation } from 'react-i18next'
import { ApiError } from '../../../api/api-error.ts'
import { queryOf } from '../../../api/queries.ts'
import { useChange } from '../../../api/use-change.ts'
import { lazyPart } from '../../../app/lazy-part.ts'
import { List } from '../../../lists/List.tsx'
import { useAsked } from '../../../lists/use-asked.ts'
import { useFormat } from '../../../ui/format.ts'
import { type Column, TwoLines } from '../../../ui/RowTable.tsx'
import { StatusBadge, type StatusLook } from '../../../ui/StatusBadge.tsx'
import { toast } from '../../../ui/toast.ts'
import { SectionCard } from '../SectionCard.tsx'
import { AddButton } from './AddButton.tsx'
import classes from './Keys.module.css'

const RegistryDialog = lazyPart(() => import('./RegistryDialog.tsx').then(module => module.RegistryDialog))
const ConfirmDialog = lazyPart(() =>
  import('../../../ui/ConfirmDialog.tsx').then(module => module.ConfirmDialog),
)

const LOOKS: Record<RegistryCheckResult, StatusLook> = {
  accepted: { shape: 'dot', tone: 'good' },
  refused: { shape: 'cross', tone: 'bad' },
  unreachable: { shape: 'dash', tone: 'warning' },
  not_a_registry: { shape: 'cross', tone: 'warning' },
}
const UNCHECKED: StatusLook = { shape: 'ring', tone: 'quiet' }

/** The account's credentials of container registries (R3.12, R2.25). */
export function RegistriesSection() {
  const { t } = useTranslation('keys')
  const remove = useChange(removeRegistryCredential)
  const list = useQuery(queryOf(listRegistryCredentials, {}))
  // Null adds one.
  const editing = useAsked<{ credential: RegistryCredential | null }>()
  const removing = useAsked<RegistryCredential>()
  const columns = useColumns({ edit: credential => editing.ask({ credential }), remove: removing.ask })
  const name = removing.what?.name ?? ''
  return (
    <>
      <SectionCard
        kind="rows"
        title={t('registry.title')}
        lead={t('registry.lead')}
        aside={
          <AddButton
            call={addRegistryCredential}
            fallback={removing.fallback}
            onClick={() => editing.ask({ credential: null })}
          >
            {t('registry.add')}
          </AddButton>
        }
      >
        <List
          label={t('registry.label')}
          query={list}
          rows={list.data}
          keyOf={({ id }) => id}
          columns={columns}
          skeletonRows={2}
          none={{ title: t('registry.none'), hint: t('registry.none_hint') }}
        />
      </SectionCard>
      <Suspense>
        {editing.what && (
          <RegistryDialog
            key={editing.what.credential?.id ?? 'new'}
            credential={editing.what.credential}
            opened={editing.opened}
            onClose={editing.close}
          />
        )}
        {removing.what && (
          <ConfirmDialog
            danger
            opened={removing.opened}
            title={t('registry.confirm.title', { name })}
            confirmLabel={t('remove')}
            onConfirm={async () => {
              await remove.send({ params: { id: removing.what?.id ?? '' } })
              toast.good(t('registry.confirm.done', { name }))
            }}
            onClose={removing.close}
          >
            {t('registry.confirm.text')}
          </ConfirmDialog>
        )}
      </Suspense>
    </>
  )
}

/** Asks a registry whether it takes a credential; each row by itself, so that several may be asked at once. */
function useCheck({ id, registry }: RegistryCredential) {
  const { t } = useTranslation('keys')
  const { send, busy } = useChange(checkRegistryCredential, { silent: true })
  const check = async () => {
    try {
      const { check_result: result } = await send({ params: { id } })
      if (result) (result === 'accepted' ? toast.good : toast.bad)(t(`registry.said.${result}`, { registry }))
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      // A host that is not public is a rule of a field that this form does not have.
      if (error.code !== 'cancelled') toast.bad(error.fields?.[0]?.msg ?? error.message)
    }
  }
  return { check, checking: busy }
}

interface RowActions {
  edit: (credential: RegistryCredential) => void
  remove: (credential: RegistryCredential) => void
}

function useColumns(actions: RowActions): Column<RegistryCredential>[] {
  const { t } = useTranslation('keys')
  return [
    {
      key: 'name',
      narrow: 'name',
      header: t('registry.name'),
      cell: one => <TwoLines strong first={one.name} second={one.registry} />,
    },
    {
      key: 'login',
      narrow: null,
      header: t('registry.login'),
      cell: one => <TwoLines first={one.username} second={t('registry.kept')} />,
    },
    {
      key: 'state',
      narrow: 'under',
      header: t('registry.state'),
      cell: one => <CheckState credential={one} />,
    },
    {
      key: 'actions',
      narrow: 'actions',
      header: '',
      said: t('actions'),
      width: '18rem',
      align: 'end',
      cell: one => <RowButtons credential={one} {...actions} />,
    },
  ]
}

function CheckState({
  credential: { check_result: result, checked_at },
}: {
  credential: RegistryCredential
}) {
  const { t } = useTranslation('keys')
  const format = useFormat()
  if (!result || !checked_at) return <StatusBadge look={UNCHECKED} label={t('registry.unchecked')} />
  return (
    <StatusBadge
      look={LOOKS[result]}
      label={t(`registry.result.${result}`)}
      reason={format.moment(checked_at)}
    />
  )
}

function RowButtons({ credential, edit, remove }: RowActions & { credential: RegistryCredential }) {
  const { t } = useTranslation('keys')
  const { name } = credential
  const { check, checking } = useCheck(credential)
  return (
    <span className={classes.rowButtons}>
      <Button
        size="xs"
        variant="default"
        loading={checking}
        aria-label={t('registry.check_of', { name })}
        onClick={() => void check()}
      >
        {t('registry.check')}
      </Button>
      <ActionIcon
        color="gray"
        variant="subtle"
        aria-label={t('registry.edit_of', { name })}
        title={t('registry.edit')}
        onClick={() => edit(credential)}
      >
        <IconPencil size={16} stroke={1.6} />
      </ActionIcon>
      <ActionIcon
        color="gray"
        variant="subtle"
        aria-label={t('remove_of', { name })}
        title={t('remove')}
        onClick={() => remove(credential)}
      >
        <IconTrash size={16} stroke={1.6} />
      </ActionIcon>
    </span>
  )
}
