import { addSshKey, listSshKeys, removeSshKey, type SshKey } from '@berth/contract/ssh-keys'
import { ActionIcon } from '@mantine/core'
import { IconTrash } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Suspense, useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../../api/queries.ts'
import { useChange } from '../../../api/use-change.ts'
import { lazyPart } from '../../../app/lazy-part.ts'
import { List } from '../../../lists/List.tsx'
import { useAsked } from '../../../lists/use-asked.ts'
import { CopyText } from '../../../ui/CopyText.tsx'
import { useFormat } from '../../../ui/format.ts'
import { type Column, TwoLines } from '../../../ui/RowTable.tsx'
import { toast } from '../../../ui/toast.ts'
import { SectionCard } from '../SectionCard.tsx'
import { AddButton } from './AddButton.tsx'
import classes from './Keys.module.css'

const AddSshKeyDialog = lazyPart(() => import('./AddSshKeyDialog.tsx').then(module => module.AddSshKeyDialog))
const ConfirmDialog = lazyPart(() =>
  import('../../../ui/ConfirmDialog.tsx').then(module => module.ConfirmDialog),
)

/** The account's public SSH keys (R1.7). */
export function SshKeysSection() {
  const { t } = useTranslation('keys')
  const remove = useChange(removeSshKey)
  const list = useQuery(queryOf(listSshKeys, {}))
  const adding = useAsked<true>()
  const removing = useAsked<SshKey>()
  const columns = useColumns(removing.ask)
  const name = removing.what?.name ?? ''
  return (
    <>
      <SectionCard
        kind="rows"
        title={t('ssh.title')}
        lead={t('ssh.lead')}
        aside={
          <AddButton call={addSshKey} fallback={removing.fallback} onClick={() => adding.ask(true)}>
            {t('ssh.add')}
          </AddButton>
        }
      >
        <List
          label={t('ssh.label')}
          query={list}
          rows={list.data}
          keyOf={({ id }) => id}
          columns={columns}
          skeletonRows={2}
          none={{ title: t('ssh.none'), hint: t('ssh.none_hint') }}
        />
      </SectionCard>
      <Suspense>
        {adding.what && <AddSshKeyDialog opened={adding.opened} onClose={adding.close} />}
        {removing.what && (
          <ConfirmDialog
            danger
            opened={removing.opened}
            title={t('ssh.confirm.title', { name })}
            confirmLabel={t('remove')}
            onConfirm={async () => {
              await remove.send({ params: { id: removing.what?.id ?? '' } })
              toast.good(t('ssh.confirm.done', { name }))
            }}
            onClose={removing.close}
          >
            {t('ssh.confirm.text')}
          </ConfirmDialog>
        )}
      </Suspense>
    </>
  )
}

function useColumns(remove: (key: SshKey) => void): Column<SshKey>[] {
  const { t } = useTranslation('keys')
  const format = useFormat()
  return useMemo(
    () => [
      {
        key: 'name',
        narrow: 'name',
        header: t('ssh.name'),
        cell: key => (
          <TwoLines
            strong
            first={key.name}
            second={key.bits === null ? key.type : t('ssh.bits', { type: key.type, bits: key.bits })}
          />
        ),
      },
      {
        key: 'fingerprint',
        narrow: 'under',
        header: t('ssh.fingerprint'),
        cell: key => (
          <span className={classes.fingerprint}>
            <CopyText mono value={key.fingerprint} label={t('ssh.fingerprint')}>
              <span className={classes.print}>{key.fingerprint}</span>
            </CopyText>
          </span>
        ),
      },
      {
        key: 'added',
        narrow: 'end',
        header: t('ssh.added'),
        width: '13rem',
        cell: key => format.date(key.created_at),
      },
      {
        key: 'actions',
        narrow: 'actions',
        header: '',
        said: t('actions'),
        align: 'end',
        width: '6rem',
        cell: key => (
          <ActionIcon
            color="gray"
            variant="subtle"
            aria-label={t('remove_of', { name: key.name })}
            title={t('remove')}
            onClick={() => remove(key)}
          >
            <IconTrash size={16} stroke={1.6} />
          </ActionIcon>
        ),
      },
    ],
    [t, format, remove],
  )
}
