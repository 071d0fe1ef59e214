import type { User } from '@berth/contract/account'
import { LANGUAGES } from '@berth/contract/limits'
import { Menu, useComputedColorScheme, useMantineColorScheme } from '@mantine/core'
import {
  IconBook,
  IconCheck,
  IconCreditCard,
  IconLanguage,
  IconLogout,
  IconMoon,
  IconSettings,
  IconSun,
} from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { ConfirmDialog } from '../../ui/ConfirmDialog.tsx'
import { CopyText } from '../../ui/CopyText.tsx'
import { currentLanguage, LANGUAGE_NAMES, setLanguage } from '../i18n.ts'
import { session } from '../session/session.ts'
import { AvatarButton } from './AvatarButton.tsx'
import classes from './AvatarMenu.module.css'

const ICON = { size: 16, stroke: 1.6 } as const

/** The customer's own menu, opened: who they are, how the console looks, and the way out (R2.13). */
export function AvatarDropdown({ user, docsUrl }: { user: User; docsUrl: string | undefined }) {
  const { t } = useTranslation('common')
  const navigate = useNavigate()
  const [leaving, setLeaving] = useState(false)
  return (
    <>
      <Menu defaultOpened position="bottom-end" width={272} offset={6}>
        <Menu.Target>
          <AvatarButton user={user} />
        </Menu.Target>
        <Menu.Dropdown>
          <div className={classes.who}>
            <CopyText value={user.email} label={t('avatar.email')} />
            <CopyText value={user.accountId} label={t('avatar.account_id')} mono>
              {t('avatar.account', { id: user.accountId })}
            </CopyText>
          </div>
          <Menu.Divider />
          <ThemeItem />
          <LanguageItem />
          {docsUrl && (
            <Menu.Item
              component="a"
              href={docsUrl}
              target="_blank"
              rel="noreferrer"
              leftSection={<IconBook {...ICON} />}
            >
              {t('avatar.docs')}
            </Menu.Item>
          )}
          <Menu.Item
            leftSection={<IconSettings {...ICON} />}
            onClick={() => void navigate({ to: '/settings' })}
          >
            {t('avatar.settings')}
          </Menu.Item>
          <Menu.Item
            leftSection={<IconCreditCard {...ICON} />}
            onClick={() => void navigate({ to: '/payments' })}
          >
            {t('avatar.billing')}
          </Menu.Item>
          <Menu.Divider />
          <Menu.Item leftSection={<IconLogout {...ICON} />} onClick={() => setLeaving(true)}>
            {t('avatar.log_out')}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <ConfirmDialog
        opened={leaving}
        title={t('logout.title')}
        confirmLabel={t('logout.confirm')}
        onConfirm={() => session().signOut()}
        onClose={() => setLeaving(false)}
      >
        {t('logout.text')}
      </ConfirmDialog>
    </>
  )
}

function ThemeItem() {
  const { t } = useTranslation('common')
  const { setColorScheme } = useMantineColorScheme()
  const dark = useComputedColorScheme('light') === 'dark'
  return (
    <Menu.Item
      closeMenuOnClick={false}
      leftSection={dark ? <IconSun {...ICON} /> : <IconMoon {...ICON} />}
      onClick={() => setColorScheme(dark ? 'light' : 'dark')}
    >
      {t(dark ? 'theme.to_light' : 'theme.to_dark')}
    </Menu.Item>
  )
}

function LanguageItem() {
  const { t } = useTranslation('common')
  const now = currentLanguage()
  return (
    <Menu.Sub position="left-start" offset={8}>
      <Menu.Sub.Target>
        <Menu.Sub.Item leftSection={<IconLanguage {...ICON} />}>
          {t('language.label')}
          <span className={classes.now}>{LANGUAGE_NAMES[now]}</span>
        </Menu.Sub.Item>
      </Menu.Sub.Target>
      <Menu.Sub.Dropdown>
        {LANGUAGES.map(language => (
          <Menu.Item
            key={language}
            lang={language}
            role="menuitemradio"
            aria-checked={language === now}
            rightSection={language === now ? <IconCheck {...ICON} /> : null}
            onClick={() => void setLanguage(language)}
          >
            {LANGUAGE_NAMES[language]}
          </Menu.Item>
        ))}
      </Menu.Sub.Dropdown>
    </Menu.Sub>
  )
}
