import { Drawer } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { isCovered } from '../ui/covering.ts'

interface SideSheetProps {
  title: string
  onClose: () => void
  children: ReactNode
}

/** What stands beside a conversation, where there is no room beside it. */
export function SideSheet({ title, onClose, children }: SideSheetProps) {
  const { t } = useTranslation('common')
  return (
    <Drawer
      opened
      onClose={() => isCovered() || onClose()}
      position="right"
      size={340}
      padding={0}
      title={title}
      closeButtonProps={{ 'aria-label': t('dialog.close') }}
    >
      {children}
    </Drawer>
  )
}
