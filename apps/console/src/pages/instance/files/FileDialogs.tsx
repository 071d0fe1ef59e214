import { makeFolder, removeFile, renameFile } from '@berth/contract/files'
import { useTranslation } from 'react-i18next'
import { sendChange } from '../../../api/change.ts'
import { useOffFor } from '../../../app/session/use-off-for.ts'
import { FormDialog } from '../../../lists/FormDialog.tsx'
import { ConfirmDialog } from '../../../ui/ConfirmDialog.tsx'
import { FileNameForm } from './FileNameForm.tsx'
import { folderOf, inFolder, nameOf } from './paths.ts'

/** What is to be done with a file. */
export type AskedOfFile =
  | { what: 'make-folder'; folder: string }
  | { what: 'rename'; path: string; isFolder: boolean }
  | { what: 'remove'; path: string; isFolder: boolean }

interface FileDialogsProps {
  asked: AskedOfFile | null
  instanceId: string
  onClose: () => void
  onDone: () => void
}

/** Asks for a name, or whether something is really to go. */
export function FileDialogs({ asked, instanceId, onClose, onDone }: FileDialogsProps) {
  const { t } = useTranslation('files')
  const off = useOffFor(removeFile)
  const params = { id: instanceId }
  if (asked === null) return null
  if (asked.what === 'remove') {
    const { path, isFolder } = asked
    const name = nameOf(path)
    return (
      <ConfirmDialog
        opened
        danger
        title={t('remove.title', { name })}
        confirmLabel={t('remove.do')}
        off={off}
        onConfirm={async () => {
          await sendChange(removeFile, { params, body: { path, with_content: isFolder } })
          onDone()
        }}
        onClose={onClose}
      >
        {t(isFolder ? 'remove.folder_text' : 'remove.text', { path })}
      </ConfirmDialog>
    )
  }
  const isNew = asked.what === 'make-folder'
  return (
    <FormDialog opened title={isNew ? t('new_folder.title') : t('rename.title')} onClose={onClose}>
      <FileNameForm
        call={isNew ? makeFolder : renameFile}
        initial={isNew ? '' : nameOf(asked.path)}
        submitLabel={isNew ? t('new_folder.do') : t('rename.do')}
        onSend={async name => {
          if (isNew) {
            await sendChange(
              makeFolder,
              { params, body: { path: inFolder(asked.folder, name) } },
              { silent: true },
            )
          } else {
            const to = inFolder(folderOf(asked.path), name)
            await sendChange(renameFile, { params, body: { path: asked.path, to } }, { silent: true })
          }
          onDone()
          onClose()
        }}
        onCancel={onClose}
      />
    </FormDialog>
  )
}
