import { useTranslation } from 'react-i18next'
import { ConfirmDialog } from '../../ui/ConfirmDialog.tsx'
import { session } from '../session/session.ts'

/** Asks before it logs out (R2.14). */
export function LogoutDialog({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const { t } = useTranslation('common')
  return (
    <ConfirmDialog
      opened={opened}
      title={t('logout.title')}
      confirmLabel={t('logout.confirm')}
      onConfirm={() => session().signOut()}
      onClose={onClose}
    >
      {t('logout.text')}
    </ConfirmDialog>
  )
}
