import type { User } from '@berth/contract/account'
import { LANGUAGES } from '@berth/contract/limits'
import { Menu, useComputedColorScheme, useMantineColorScheme } from '@mantine/core'
import {
  IconBook,
  IconCheck,
  IconChevronDown,
  IconCopy,
  IconCreditCard,
  IconKeyboard,
  IconLanguage,
  IconLogout,
  IconMoon,
  IconSettings,
  IconSun,
} from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { type KeyboardEvent, type ReactNode, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { copyText } from '../../ui/copy-text.ts'
import { toast } from '../../ui/toast.ts'
import { currentLanguage, LANGUAGE_NAMES, setLanguage } from '../i18n.ts'
import { AvatarButton } from './AvatarButton.tsx'
import classes from './AvatarMenu.module.css'
import type { ShellCommands } from './shell-commands.ts'

const ICON = { size: 16, stroke: 1.6 } as const

interface AvatarDropdownProps {
  user: User
  docsUrl: string | undefined
  commands: ShellCommands
}

/** The customer's own menu, opened: who they are, how the console looks, and the way out (R2.13). */
export function AvatarDropdown({ user, docsUrl, commands }: AvatarDropdownProps) {
  const { t } = useTranslation('common')
  const navigate = useNavigate()
  const button = useRef<HTMLButtonElement>(null)
  const [times, setTimes] = useState(0)
  return (
    <Menu
      defaultOpened
      position="bottom-end"
      width={272}
      offset={6}
      onOpen={() => setTimes(times + 1)}
      // Mantine's own way knows no opener for a menu that is open from the start.
      onClose={() => button.current?.focus({ preventScroll: true })}
    >
      <Menu.Target>
        <AvatarButton ref={button} user={user} />
      </Menu.Target>
      <Menu.Dropdown>
        <CopyItem value={user.email} label={t('avatar.email')}>
          {user.email}
        </CopyItem>
        <CopyItem value={user.accountId} label={t('avatar.account_id')}>
          <span className="mono">{t('avatar.account', { id: user.accountId })}</span>
        </CopyItem>
        <Menu.Divider />
        <ThemeItem />
        {/* Folded again, even where the menu is opened before it was gone. */}
        <LanguageItem key={times} />
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
        <Menu.Item leftSection={<IconKeyboard {...ICON} />} onClick={commands.showShortcuts}>
          {t('shortcuts.title')}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item leftSection={<IconLogout {...ICON} />} onClick={commands.logOut}>
          {t('avatar.log_out')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

interface CopyItemProps {
  value: string
  /** What it is: `Account ID`. */
  label: string
  children: ReactNode
}

/** Who one is, copied by choosing it: a menu may hold items only. */
function CopyItem({ value, label, children }: CopyItemProps) {
  const { t } = useTranslation('common')
  const copy = () =>
    copyText(value).then(
      () => toast.good(t('copy.copied')),
      () => toast.bad(t('copy.failed')),
    )
  return (
    <Menu.Item
      closeMenuOnClick={false}
      aria-label={`${t('copy.action', { what: label })} ${value}`}
      title={t('copy.action', { what: label })}
      rightSection={<IconCopy size={14} stroke={1.6} />}
      onClick={() => void copy()}
    >
      {children}
    </Menu.Item>
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

/**
 * The languages, unfolded in place: a menu beside the menu opens under a hovering pointer only, and has no room on a
 * narrow screen.
 */
function LanguageItem() {
  const { t } = useTranslation('common')
  const [unfolded, setUnfolded] = useState(false)
  const now = currentLanguage()
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowRight') setUnfolded(true)
    if (event.key === 'ArrowLeft') setUnfolded(false)
  }
  return (
    <>
      <Menu.Item
        closeMenuOnClick={false}
        aria-expanded={unfolded}
        leftSection={<IconLanguage {...ICON} />}
        rightSection={
          <IconChevronDown {...ICON} className={classes.chevron} data-unfolded={unfolded || undefined} />
        }
        onClick={() => setUnfolded(!unfolded)}
        onKeyDown={onKeyDown}
      >
        {t('language.label')}
        <span className={classes.now} lang={now}>
          {LANGUAGE_NAMES[now]}
        </span>
      </Menu.Item>
      {unfolded && (
        // biome-ignore lint/a11y/useSemanticElements: a group of choices in a menu is no field set.
        <div role="group" aria-label={t('language.label')}>
          <Menu.RadioGroup value={now} onChange={choose}>
            {LANGUAGES.map(language => (
              <Menu.RadioItem
                key={language}
                value={language}
                lang={language}
                closeMenuOnClick
                className={classes.language ?? ''}
                checkIcon={<IconCheck {...ICON} />}
              >
                {LANGUAGE_NAMES[language]}
              </Menu.RadioItem>
            ))}
          </Menu.RadioGroup>
        </div>
      )}
    </>
  )
}

function choose(value: string | null): void {
  const language = LANGUAGES.find(name => name === value)
  if (language) void setLanguage(language)
}
