"""A Django site with sessions, CSRF tokens, messages, a login and the admin: django_site.py FOLDER. Prints its port."""

import itertools
import pathlib
import socketserver
import sys
import wsgiref.simple_server

import django
from django.conf import settings

FOLDER = pathlib.Path(sys.argv[1])
USER, PASSWORD = "ada-of-the-session", "engine"

settings.configure(
    SECRET_KEY="not a secret: the site lives as long as a test",
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": FOLDER / "site.sqlite"}},
    INSTALLED_APPS=[
        "django.contrib.admin", "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "django.contrib.messages",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware", "django.middleware.common.CommonMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware", "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
    ],
    TEMPLATES=[{
        "BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True,
        "OPTIONS": {"context_processors": [
            "django.template.context_processors.request", "django.contrib.auth.context_processors.auth",
            "django.contrib.messages.context_processors.messages",
        ]},
    }],
    LOGIN_REDIRECT_URL="/account/",
    LOGOUT_REDIRECT_URL="/",
    USE_TZ=True,
)  # fmt: skip
django.setup()

from django.contrib import admin, messages  # noqa: E402
from django.contrib.auth import views  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.http import HttpResponse, HttpResponseRedirect  # noqa: E402
from django.middleware.csrf import get_token  # noqa: E402
from django.urls import path  # noqa: E402

numbers = itertools.count(1)


def page(request):
    """A page for everyone, which shows which cookies arrived."""
    return HttpResponse(f"page {next(numbers)}; cookies: {sorted(request.COOKIES)}")


def account(request):
    """A page that reads the session."""
    return HttpResponse(f"{request.user.get_username() or 'visitor'}; page {next(numbers)}")


def contact(request):
    """A form; sending it leaves a message."""
    if request.method == "POST":
        messages.info(request, f"note to {request.POST['name']}")
        return HttpResponseRedirect("/contact/")
    notes = [str(message) for message in messages.get_messages(request)]
    return HttpResponse(f'{notes} <input name="csrfmiddlewaretoken" value="{get_token(request)}">')


def login_form(request):
    """A login without a template."""
    if request.method == "GET":
        return HttpResponse(f'<input name="csrfmiddlewaretoken" value="{get_token(request)}">')
    return views.LoginView.as_view()(request)


urlpatterns = [
    path("", page), path("account/", account), path("contact/", contact), path("accounts/login/", login_form),
    path("accounts/logout/", views.LogoutView.as_view()), path("admin/", admin.site.urls),
]  # fmt: skip


class Server(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True


class Handler(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, *_):
        pass


if __name__ == "__main__":
    call_command("migrate", verbosity=0)
    User.objects.create_superuser(USER, password=PASSWORD)
    with wsgiref.simple_server.make_server("127.0.0.1", 0, get_wsgi_application(), Server, Handler) as server:
        print(server.server_port, flush=True)
        server.serve_forever()
