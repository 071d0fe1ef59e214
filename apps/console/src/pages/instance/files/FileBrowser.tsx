import { type FileEntry, makeFolder, planUpload } from '@berth/contract/files'
import type { Instance } from '@berth/contract/instances'
import { ActionIcon, Button, Checkbox } from '@mantine/core'
import { IconFolderPlus, IconRefresh, IconUpload } from '@tabler/icons-react'
import { useBlocker } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { sendChange } from '../../../api/change.ts'
import { VerifiedButton } from '../../../app/session/VerifiedButton.tsx'
import { Card } from '../../../ui/Card.tsx'
import { ConfirmDialog } from '../../../ui/ConfirmDialog.tsx'
import { EmptyState } from '../../../ui/EmptyState.tsx'
import { ErrorState } from '../../../ui/ErrorState.tsx'
import { SkeletonRows } from '../../../ui/SkeletonRows.tsx'
import { useDrop } from '../../../ui/use-drop.ts'
import { ConflictDialog } from './ConflictDialog.tsx'
import { type Chosen, chosenFrom, droppedFrom } from './chosen-files.ts'
import { type AskedOfFile, FileDialogs } from './FileDialogs.tsx'
import classes from './Files.module.css'
import { FileTable } from './FileTable.tsx'
import { crumbsOf, inFolder } from './paths.ts'
import { TransferList } from './TransferList.tsx'
import { isOver } from './uploads.ts'
import { useFolder } from './use-folder.ts'
import { useUploads } from './use-uploads.ts'

/** So many of those that could not be read are named. */
const UNREAD_NAMED_MAX = 3

/** Folders of an instance, one at a time, and what is on its way into them. */
export function FileBrowser({ instance }: { instance: Instance }) {
  const { t } = useTranslation('files')
  const id = instance.instance_id
  const [path, setPath] = useState('')
  const [showsHidden, setShowsHidden] = useState(false)
  const [asked, setAsked] = useState<AskedOfFile | null>(null)
  const [note, setNote] = useState<string | null>(null)
  const { uploads, list } = useUploads(id)
  const folder = useFolder(id, path, true)
  const isUnderWay = list.some(({ stage }) => !isOver(stage) && stage !== 'failed')
  const leaving = useBlocker({
    shouldBlockFn: ({ current, next }) => isUnderWay && current.pathname !== next.pathname,
    enableBeforeUnload: isUnderWay,
    withResolver: true,
  })
  const here = folder.data?.path ?? path
  const drop = useDrop(data => void droppedFrom(data).then(take))

  function take({ files, emptyFolders, unread, isCut }: Chosen): void {
    const names = unread.slice(0, UNREAD_NAMED_MAX).join(', ')
    const notes = [
      ...(isCut ? [t('upload.cut', { count: files.length, number: files.length })] : []),
      ...(unread.length > 0 ? [t('upload.unread', { number: unread.length, names })] : []),
    ]
    setNote(notes.join(' ') || null)
    uploads.add(files.map(({ file, place }) => ({ file, path: inFolder(here, place) })))
    for (const place of emptyFolders) {
      const body = { path: inFolder(here, place) }
      // One that is there already is as good.
      void sendChange(makeFolder, { params: { id }, body }, { silent: true }).then(look, () => undefined)
    }
  }
  const look = () => void folder.refetch()
  const asking = list.filter(({ stage }) => stage === 'asks')

  return (
    <section
      className={classes.files}
      aria-label={t('title')}
      data-dropping={drop.isOver || undefined}
      {...drop.handlers}
    >
      <Card padding="none">
        <div className={classes.bar}>
          <h2 className={classes.title}>{t('title')}</h2>
          <Crumbs path={here} onGo={setPath} />
          <div className={classes.tools}>
            <PickButton label={t('upload.files')} onPick={take} />
            <PickButton label={t('upload.folder')} onPick={take} isFolder />
            <ActionIcon
              variant="default"
              size={32}
              aria-label={t('new_folder.title')}
              title={t('new_folder.title')}
              onClick={() => setAsked({ what: 'make-folder', folder: here })}
            >
              <IconFolderPlus size={16} stroke={1.6} />
            </ActionIcon>
            <ActionIcon
              variant="default"
              size={32}
              aria-label={t('look')}
              title={t('look')}
              loading={folder.isRefetching}
              onClick={look}
            >
              <IconRefresh size={16} stroke={1.6} />
            </ActionIcon>
          </div>
        </div>
        {folder.error ? (
          <ErrorState
            message={folder.error.message}
            requestId={folder.error.requestId}
            onRetry={path === '' ? look : () => (path === '/' ? look() : setPath(''))}
          />
        ) : folder.data ? (
          <Held
            entries={folder.data.entries}
            showsHidden={showsHidden}
            folder={here}
            instanceId={id}
            onGo={setPath}
            onAsk={setAsked}
          />
        ) : (
          <SkeletonRows rows={4} />
        )}
        <div className={classes.foot}>
          <span role="status">{drop.isOver ? t('drop', { path: here }) : (note ?? t('drop_hint'))}</span>
          {folder.hasNextPage && (
            <Button
              variant="default"
              size="compact-sm"
              loading={folder.isFetchingNextPage}
              onClick={() => void folder.fetchNextPage()}
            >
              {t('more')}
            </Button>
          )}
          <Checkbox
            size="xs"
            label={t('hidden')}
            checked={showsHidden}
            onChange={event => setShowsHidden(event.currentTarget.checked)}
          />
        </div>
        {list.length > 0 && <TransferList uploads={uploads} list={list} />}
      </Card>
      <ConflictDialog asking={asking} onAnswer={uploads.answer} />
      <FileDialogs asked={asked} instanceId={id} onClose={() => setAsked(null)} onDone={look} />
      <ConfirmDialog
        opened={leaving.status === 'blocked'}
        title={t('leave.title')}
        confirmLabel={t('leave.confirm')}
        danger
        onConfirm={() => leaving.proceed?.()}
        onClose={() => leaving.reset?.()}
      >
        {t('leave.text')}
      </ConfirmDialog>
    </section>
  )
}

interface HeldProps {
  entries: readonly FileEntry[]
  showsHidden: boolean
  folder: string
  instanceId: string
  onGo: (path: string) => void
  onAsk: (asked: AskedOfFile) => void
}

/** What a folder holds: folders first. */
function Held({ entries, showsHidden, ...rest }: HeldProps) {
  const { t } = useTranslation('files')
  const seen = entries.filter(({ name }) => showsHidden || !name.startsWith('.'))
  const sorted = [
    ...seen.filter(({ kind }) => kind === 'folder'),
    ...seen.filter(({ kind }) => kind !== 'folder'),
  ]
  if (sorted.length === 0) {
    const hidden = entries.length
    return (
      <EmptyState
        title={t('none.title')}
        hint={hidden > 0 ? t('none.hidden', { count: hidden, number: hidden }) : t('none.hint')}
      />
    )
  }
  return <FileTable entries={sorted} {...rest} />
}

function Crumbs({ path, onGo }: { path: string; onGo: (path: string) => void }) {
  const { t } = useTranslation('files')
  const crumbs = path === '' ? [] : crumbsOf(path)
  return (
    <nav className={classes.crumbs} aria-label={t('crumbs')}>
      {crumbs.map((crumb, at) => (
        <button
          key={crumb.path}
          type="button"
          className={`${classes.crumb} mono`}
          aria-current={at === crumbs.length - 1 ? 'location' : undefined}
          onClick={() => onGo(crumb.path)}
        >
          <bdi>{crumb.name}</bdi>
        </button>
      ))}
    </nav>
  )
}

interface PickButtonProps {
  label: string
  onPick: (chosen: Chosen) => void
  isFolder?: boolean
}

/** Opens the browser's own dialog for files, or for a folder with all that it holds. */
function PickButton({ label, onPick, isFolder = false }: PickButtonProps) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <VerifiedButton
        call={planUpload}
        variant="default"
        {...(!isFolder && { leftSection: <IconUpload size={15} stroke={1.6} /> })}
        onClick={() => input.current?.click()}
      >
        {label}
      </VerifiedButton>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label={label}
        {...(isFolder && { webkitdirectory: '' })}
        onChange={({ currentTarget }) => {
          if (currentTarget.files) onPick(chosenFrom(currentTarget.files))
          // The same file may be chosen once more.
          currentTarget.value = ''
        }}
      />
    </>
  )
}
