import { Drawer } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Brand } from '../../ui/Brand.tsx'
import { useSession } from '../session/session.ts'
import { LanguageChoice } from './LanguageChoice.tsx'
import classes from './MobileMenu.module.css'
import { SideMenu } from './SideMenu.tsx'

/** The menu of narrow screens, in a drawer of the same 20rem. */
export function MobileMenu({ brand, onClose }: { brand: string; onClose: () => void }) {
  const { t } = useTranslation('common')
  const { user } = useSession()
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
      {/* Who is signed in has it in the avatar menu; here the bar has no room for it. */}
      {!user && (
        <div className={classes.language}>
          <LanguageChoice />
        </div>
      )}
    </Drawer>
  )
}
