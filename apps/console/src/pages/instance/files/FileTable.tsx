import type { FileEntry } from '@berth/contract/files'
import { startFileDownload } from '@berth/contract/files'
import { IconArchive, IconDownload, IconFile, IconFolder, IconPencil, IconTrash } from '@tabler/icons-react'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { useOffFor } from '../../../app/session/use-off-for.ts'
import { ActionMenu } from '../../../lists/ActionMenu.tsx'
import { rowActionsId } from '../../../lists/row-action.ts'
import { bytesText } from '../../../ui/bytes.ts'
import { useFormat } from '../../../ui/format.ts'
import { type Column, RowTable } from '../../../ui/RowTable.tsx'
import { download } from './download.ts'
import type { AskedOfFile } from './FileDialogs.tsx'
import classes from './Files.module.css'
import { inFolder } from './paths.ts'

interface FileTableProps {
  entries: readonly FileEntry[]
  folder: string
  instanceId: string
  onGo: (path: string) => void
  onAsk: (asked: AskedOfFile) => void
}

/** Files and folders, with what can be done with each. */
export function FileTable({ entries, folder, instanceId, onGo, onAsk }: FileTableProps) {
  const { t } = useTranslation(['files', 'common'])
  const format = useFormat()
  const off = useOffFor(startFileDownload)
  const columns = useMemo((): Column<FileEntry>[] => {
    // What goes wrong has been said.
    const save = (path: string) => void download(instanceId, path).catch(() => undefined)
    return [
      {
        key: 'name',
        header: t('columns.name'),
        narrow: 'name',
        cell: entry => {
          const path = inFolder(folder, entry.name)
          const Icon = entry.kind === 'folder' ? IconFolder : IconFile
          return (
            <span className={classes.name}>
              <Icon size={16} stroke={1.6} aria-hidden="true" />
              {canOpen(entry) ? (
                <button
                  type="button"
                  data-row-target
                  className={classes.target}
                  title={entry.kind === 'folder' ? undefined : t('download')}
                  onClick={() => (entry.kind === 'folder' ? onGo(path) : save(path))}
                >
                  <bdi>{entry.name}</bdi>
                </button>
              ) : (
                <bdi title={entry.can_be_named ? undefined : t('no_text')}>{entry.name}</bdi>
              )}
            </span>
          )
        },
      },
      {
        key: 'size',
        header: t('columns.size'),
        narrow: 'end',
        align: 'end',
        width: '10rem',
        cell: ({ kind, size }) => (kind === 'file' ? bytesText(size) : ''),
      },
      {
        key: 'modified',
        header: t('columns.modified'),
        narrow: 'under',
        width: '15rem',
        cell: ({ modified_at }) => modified_at && format.moment(modified_at),
      },
      {
        key: 'mode',
        header: t('columns.mode'),
        narrow: null,
        width: '7rem',
        wideOnly: true,
        cell: ({ mode }) => <span className="mono">{mode}</span>,
      },
      {
        key: 'actions',
        header: '',
        said: t('columns.actions'),
        narrow: 'actions',
        align: 'end',
        width: '5.6rem',
        cell: entry => (
          <span id={rowActionsId(entry.name)}>
            <ActionMenu
              label={t('common:row.menu', { name: entry.name })}
              items={() => [
                ...(entry.kind === 'other'
                  ? []
                  : [
                      {
                        action: 'download' as const,
                        label: t(entry.kind === 'folder' ? 'archive' : 'download'),
                        icon: entry.kind === 'folder' ? IconArchive : IconDownload,
                        reason: reasonOf(entry),
                      },
                    ]),
                {
                  action: 'rename' as const,
                  label: t('rename.do'),
                  icon: IconPencil,
                  reason: reasonOf(entry),
                },
                {
                  action: 'remove' as const,
                  label: t('remove.do'),
                  icon: IconTrash,
                  reason: reasonOf(entry),
                  danger: true,
                },
              ]}
              onAsk={action => {
                const path = inFolder(folder, entry.name)
                if (action === 'download') save(path)
                else onAsk({ what: action, path, isFolder: entry.kind === 'folder' && !entry.is_link })
              }}
            />
          </span>
        ),
      },
    ]
    function reasonOf({ can_be_named }: FileEntry): string | null {
      return can_be_named ? off : t('no_text')
    }
  }, [t, format, off, folder, instanceId, onGo, onAsk])
  return <RowTable label={t('held')} columns={columns} rows={entries} keyOf={keyOf} />
}

/** Names that are no text may look alike. */
const keyOf = ({ name, can_be_named, size, modified_at }: FileEntry) =>
  can_be_named ? name : `${name}/${size}/${modified_at}`

const canOpen = ({ kind, can_be_named }: FileEntry) => can_be_named && kind !== 'other'
