import { Drawer } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Brand } from '../../ui/Brand.tsx'
import { SideMenu } from './SideMenu.tsx'

/** The menu of narrow screens, in a drawer of the same 20rem. */
export function MobileMenu({ brand, onClose }: { brand: string; onClose: () => void }) {
  const { t } = useTranslation('common')
  return (
    <Drawer
      opened
      onClose={onClose}
      size="20rem"
      padding={0}
      title={<Brand name={brand} />}
      closeButtonProps={{ 'aria-label': t('dialog.close') }}
      styles={{ header: { padding: '1.2rem 1.2rem 1.2rem 1.8rem' } }}
    >
      <nav aria-label={t('shell.menu')}>
        <SideMenu collapsed={false} onFollow={onClose} />
      </nav>
    </Drawer>
  )
}
